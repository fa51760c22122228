import fc from 'fast-check';
import { organizationRoleNames } from '../access/roles.js';
import { admit, roleOfGroups, type Assertion, type Facts } from './admission.js';
import { grantableRoles, type AdmissionRules } from './provider.js';

const rules: AdmissionRules = {
  admits: true,
  defaultRole: 'member',
  groupRoles: [
    { group: 'auditors', role: 'auditor' },
    { group: 'it', role: 'admin' },
  ],
};
const assertion: Assertion = { subject: 's', email: 'ada@example.com', emailVerified: true, name: 'Ada', groups: null };
const member = { memberId: 'm', role: 'member', suspended: false } as const;
const facts: Facts = { assertion, rules, domainIsOurs: true, known: null, addressOwner: null };

test('somebody new becomes what their groups say, the most of it, else the default', () => {
  const roleOf = (groups: string[] | null, given = rules) => {
    const admitted = admit({ ...facts, rules: given, assertion: { ...assertion, groups } });
    return admitted.ok ? admitted.value.role : admitted.failure.reason;
  };
  expect(roleOf(['auditors', 'it'])).toBe('admin');
  expect(roleOf(['auditors'])).toBe('auditor');
  expect(roleOf(['chess'])).toBe('member');
  expect(roleOf(null)).toBe('member');
  expect(roleOf(['chess'], { ...rules, defaultRole: null })).toBe('no_group');
  expect(roleOf(['it'], { ...rules, admits: false })).toBe('not_invited');
});

test.each<[string, Partial<Facts>]>([
  ['no_address', { assertion: { ...assertion, email: null } }],
  ['address_unverified', { assertion: { ...assertion, emailVerified: false } }],
  ['domain_unverified', { domainIsOurs: false }],
  ['domain_unverified', { domainIsOurs: false, addressOwner: { ...member, isLinked: false } }],
  ['address_taken', { addressOwner: { ...member, isLinked: true } }],
  ['suspended', { known: { ...member, suspended: true } }],
  ['suspended', { addressOwner: { ...member, suspended: true, isLinked: false } }],
])('refused: %s', (reason, given) => {
  expect(admit({ ...facts, ...given })).toEqual({ ok: false, failure: { _tag: 'AdmissionRefused', reason } });
});

test('who was here before needs no address, and follows their groups', () => {
  const known = (role: 'member' | 'owner', groups: string[] | null) =>
    admit({ ...facts, domainIsOurs: false, assertion: { ...assertion, email: null, groups }, known: { ...member, role } });
  expect(known('member', null)).toEqual({ ok: true, value: { kind: 'known', memberId: 'm', role: null } });
  expect(known('member', ['it'])).toEqual({ ok: true, value: { kind: 'known', memberId: 'm', role: 'admin' } });
  expect(known('member', [])).toEqual({ ok: true, value: { kind: 'known', memberId: 'm', role: null } });
  expect(known('owner', ['auditors'])).toEqual({ ok: true, value: { kind: 'known', memberId: 'm', role: null } });
});

test('nobody but the subject itself, or a proven address that nobody signs in by, becomes a member that was there before', () => {
  const role = fc.constantFrom(...organizationRoleNames);
  const person = fc.record({ memberId: fc.constantFrom('a', 'b'), role, suspended: fc.boolean() });
  const any: fc.Arbitrary<Facts> = fc.record({
    assertion: fc.record({
      subject: fc.constant('s'),
      email: fc.option(fc.constant('ada@example.com')),
      emailVerified: fc.boolean(),
      name: fc.option(fc.constant('Ada')),
      groups: fc.option(fc.subarray(['it', 'auditors', 'chess'])),
    }),
    rules: fc.record({ admits: fc.boolean(), defaultRole: fc.option(fc.constantFrom(...grantableRoles)), groupRoles: fc.constantFrom([], rules.groupRoles) }),
    domainIsOurs: fc.boolean(),
    known: fc.option(person),
    addressOwner: fc.option(fc.record({ memberId: fc.constantFrom('a', 'b'), role, suspended: fc.boolean(), isLinked: fc.boolean() })),
  });
  fc.assert(
    fc.property(any, (given) => {
      const admitted = admit(given);
      if (!admitted.ok) return;
      const { known, addressOwner, domainIsOurs, assertion: said } = given;
      if (admitted.value.kind === 'new') expect(known ?? addressOwner).toBeNull();
      else if (admitted.value.kind === 'known') expect(admitted.value.memberId).toBe(known?.memberId);
      else {
        expect([known, domainIsOurs, said.emailVerified, addressOwner?.isLinked]).toEqual([null, true, true, false]);
        expect(admitted.value.memberId).toBe(addressOwner?.memberId);
      }
      expect(admitted.value.role).not.toBe('owner');
    }),
  );
});

test('of roles that groups give the most counts, in whatever order they are mapped', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([...grantableRoles], { minLength: 1 }), (roles) => {
      const mapped = { ...rules, groupRoles: roles.map((role) => ({ group: role, role })) };
      const most = grantableRoles.find((role) => roles.includes(role));
      expect(roleOfGroups(mapped, [...grantableRoles])).toBe(most);
    }),
  );
});
