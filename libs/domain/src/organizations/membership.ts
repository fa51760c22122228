import type { MemberKind } from '../access/credentials.js';
import { mayAppoint, type Rights } from '../access/rights.js';
import type { OrganizationRole } from '../access/roles.js';
import { fail, ok, type Result } from '../result.js';
import type { Forbidden, LastOwner, OwnerIsNoPerson, OwnMembership } from './member.js';

export type Membership = { readonly id: string; readonly kind: MemberKind; readonly role: OrganizationRole; readonly suspended: boolean };
/** What is undefined stays as it is. */
export type MembershipChange = { readonly role?: OrganizationRole | undefined; readonly suspended?: boolean | undefined; readonly removed?: boolean | undefined };
export type MembershipFailure = Forbidden | OwnMembership | LastOwner | OwnerIsNoPerson;

type Judged = { readonly asker: { readonly memberId: string; readonly permissions: Rights }; readonly member: Membership; readonly change: MembershipChange };

const isActiveOwner = ({ role, suspended = false, removed = false }: MembershipChange): boolean => role === 'owner' && !suspended && !removed;

/** Whether somebody may make this change. `otherOwners`: people who own the organization besides the member, and are neither suspended nor removed. */
export function judgeMembershipChange({ asker, member, change }: Judged, otherOwners: number): Result<null, MembershipFailure> {
  const role = change.role ?? member.role;
  if (!mayAppoint(asker.permissions, member.role) || !mayAppoint(asker.permissions, role)) return fail({ _tag: 'Forbidden' });
  if (role === 'owner' && member.kind !== 'person') return fail({ _tag: 'OwnerIsNoPerson' });
  if (isActiveOwner(member) && !isActiveOwner({ role, suspended: change.suspended ?? member.suspended, removed: change.removed }) && otherOwners === 0)
    return fail({ _tag: 'LastOwner' });
  const isOwn = member.id === asker.memberId;
  if (isOwn && (role !== member.role || (change.suspended ?? false))) return fail({ _tag: 'OwnMembership' });
  return ok(null);
}
