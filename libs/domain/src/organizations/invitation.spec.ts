import { rightsOf } from '../access/rights.js';
import type { OrganizationRole, ProjectRole } from '../access/roles.js';
import { mayInvite } from './invitation.js';

const of = (role: OrganizationRole, projectRole: ProjectRole | null = null) => rightsOf({ role, projectRole });

test.each<[string, OrganizationRole, Parameters<typeof mayInvite>[1], Parameters<typeof mayInvite>[2], boolean]>([
  ['an owner invites an owner with a password', 'owner', { role: 'owner', passwordSignIn: true }, [], true],
  ['an admin invites an admin', 'admin', { role: 'admin', passwordSignIn: false }, [], true],
  ['an admin invites no owner', 'admin', { role: 'owner', passwordSignIn: false }, [], false],
  ['an admin gives nobody a password', 'admin', { role: 'viewer', passwordSignIn: true }, [], false],
  ['a member invites nobody', 'member', { role: 'viewer', passwordSignIn: false }, [], false],
  ['who runs a project gives roles in it', 'admin', { role: 'viewer', passwordSignIn: false }, [{ rights: of('admin', 'admin'), role: 'admin' }], true],
  ['who only works in a project gives none there', 'admin', { role: 'viewer', passwordSignIn: false }, [{ rights: of('member', 'member'), role: 'viewer' }], false],
  [
    'one project that is not theirs is enough to refuse all',
    'owner',
    { role: 'viewer', passwordSignIn: false },
    [
      { rights: of('owner'), role: 'admin' },
      { rights: new Set(), role: 'viewer' },
    ],
    false,
  ],
])('%s', (_, maker, wanted, projects, may) => {
  expect(mayInvite(of(maker), wanted, projects)).toBe(may);
});
