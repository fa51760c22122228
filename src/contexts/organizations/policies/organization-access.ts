import type { MemberRole } from '@domain/organizations/member.js';

export type OrganizationAction = 'read' | 'create-members';

const actions: Readonly<Record<MemberRole, ReadonlySet<OrganizationAction>>> = {
  owner: new Set(['read', 'create-members'] as const),
  member: new Set(['read'] as const),
};

/** What a role may do with the organization that it belongs to; nobody reaches another one. */
export const mayIn = (role: MemberRole, action: OrganizationAction): boolean => actions[role].has(action);
