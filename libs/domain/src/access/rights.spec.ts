import fc from 'fast-check';
import { permissionNames } from './permissions.js';
import { common, covers, mayAppoint, rightsOf, within } from './rights.js';
import { organizationRoleNames, organizationRoles, projectRoleNames } from './roles.js';

const standing = fc.record({ role: fc.constantFrom(...organizationRoleNames), projectRole: fc.constantFrom(null, ...projectRoleNames) });
const scopes = fc.option(fc.uniqueArray(fc.constantFrom<string>(...permissionNames, 'unheard.of')));

test('a scope only ever takes away, and a role in a project only ever adds', () => {
  fc.assert(
    fc.property(standing, scopes, (of, asked) => {
      const rights = rightsOf(of);
      expect(covers(rights, within(rights, asked))).toBe(true);
      expect(covers(rights, rightsOf({ ...of, projectRole: null }))).toBe(true);
    }),
  );
});

test('who acts for another has what both have', () => {
  fc.assert(
    fc.property(standing, standing, (one, other) => {
      const both = common(rightsOf(one), rightsOf(other));
      for (const name of permissionNames) expect(both.has(name)).toBe(rightsOf(one).has(name) && rightsOf(other).has(name));
    }),
  );
});

test('an owner may do everything, and what only owners may, no other role may', () => {
  expect(rightsOf({ role: 'owner', projectRole: null }).size).toBe(permissionNames.length);
  for (const role of organizationRoleNames.filter((name) => name !== 'owner')) expect(organizationRoles[role].permissions).not.toContain('projects.delete');
});

test.each([
  ['owner', ['owner', 'admin', 'member', 'viewer', 'auditor']],
  ['admin', ['admin', 'member', 'viewer', 'auditor']],
  ['member', ['member', 'viewer']],
  ['viewer', ['viewer']],
  ['auditor', ['auditor']],
] as const)('%s may make nobody who may do more', (role, appointed) => {
  expect(organizationRoleNames.filter((name) => mayAppoint(rightsOf({ role, projectRole: null }), name))).toEqual(appointed);
});

test('no role in a project reaches beyond it', () => {
  const everywhere = ['audit.read', 'keys.manage', 'members.create', 'members.manage', 'models.manage', 'organization.change', 'projects.create', 'projects.delete'] as const;
  for (const projectRole of projectRoleNames) {
    const rights = rightsOf({ role: 'auditor', projectRole });
    expect(everywhere.filter((name) => name !== 'audit.read' && rights.has(name))).toEqual([]);
  }
});
