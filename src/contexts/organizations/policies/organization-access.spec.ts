import { mayIn } from './organization-access.js';

test.each([
  ['an owner reads', 'owner', 'read', true],
  ['an owner makes members', 'owner', 'create-members', true],
  ['a member reads', 'member', 'read', true],
  ['a member makes no members', 'member', 'create-members', false],
] as const)('%s', (_rule, role, action, expected) => {
  expect(mayIn(role, action)).toBe(expected);
});
