import { rightsOf } from '../access/rights.js';
import type { OrganizationRole } from '../access/roles.js';
import { judgeMembershipChange, type MembershipChange } from './membership.js';

type Row = readonly [rule: string, asker: OrganizationRole, member: OrganizationRole, asked: { readonly change: MembershipChange; readonly otherOwners: number }, outcome: string];

const rows: readonly Row[] = [
  ['an owner demotes another owner', 'owner', 'owner', { change: { role: 'member' }, otherOwners: 1 }, 'ok'],
  ['an admin makes an admin', 'admin', 'member', { change: { role: 'admin' }, otherOwners: 1 }, 'ok'],
  ['an admin makes no owner', 'admin', 'member', { change: { role: 'owner' }, otherOwners: 1 }, 'Forbidden'],
  ['an admin changes no owner', 'admin', 'owner', { change: { role: 'member' }, otherOwners: 1 }, 'Forbidden'],
  ['an admin suspends no owner', 'admin', 'owner', { change: { suspended: true }, otherOwners: 1 }, 'Forbidden'],
  ['an admin removes no owner', 'admin', 'owner', { change: { removed: true }, otherOwners: 1 }, 'Forbidden'],
  ['the last owner is not demoted', 'owner', 'owner', { change: { role: 'admin' }, otherOwners: 0 }, 'LastOwner'],
  ['the last owner is not suspended', 'owner', 'owner', { change: { suspended: true }, otherOwners: 0 }, 'LastOwner'],
  ['the last owner is not removed', 'owner', 'owner', { change: { removed: true }, otherOwners: 0 }, 'LastOwner'],
  ['the last owner gets another name', 'owner', 'owner', { change: {}, otherOwners: 0 }, 'ok'],
  ['a suspension that says what is so already changes nothing', 'owner', 'owner', { change: { suspended: false, role: 'owner' }, otherOwners: 0 }, 'ok'],
];
test.each(rows)('%s', (_, asker, member, { change, otherOwners }, outcome) => {
  const judged = judgeMembershipChange(
    { asker: { memberId: 'asker', permissions: rightsOf({ role: asker, projectRole: null }) }, member: { id: 'member', kind: 'person', role: member, suspended: false }, change },
    otherOwners,
  );
  expect(judged.ok ? 'ok' : judged.failure._tag).toBe(outcome);
});

test.each([
  ['nobody changes their own role', { role: 'member' }, 'OwnMembership'],
  ['nobody suspends themselves', { suspended: true }, 'OwnMembership'],
  ['one may leave', { removed: true }, 'ok'],
] as const)('%s', (_, change, outcome) => {
  const asker = { memberId: 'me', permissions: rightsOf({ role: 'owner', projectRole: null }) };
  const judged = judgeMembershipChange({ asker, member: { id: 'me', kind: 'person', role: 'owner', suspended: false }, change }, 1);
  expect(judged.ok ? 'ok' : judged.failure._tag).toBe(outcome);
});

test('a program becomes no owner, whoever asks, and anything else as a person does', () => {
  const asker = { memberId: 'asker', permissions: rightsOf({ role: 'owner', projectRole: null }) };
  const becomes = (role: OrganizationRole) =>
    judgeMembershipChange({ asker, member: { id: 'program', kind: 'service_account', role: 'member', suspended: false }, change: { role } }, 1);
  expect(becomes('owner')).toEqual({ ok: false, failure: { _tag: 'OwnerIsNoPerson' } });
  expect(becomes('admin').ok).toBe(true);
});
