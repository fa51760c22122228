import { organizationRoleNames, type OrganizationRole } from '../access/roles.js';
import { fail, ok, type Result } from '../result.js';
import type { AdmissionRules, GrantableRole } from './provider.js';

/** What a provider says of whoever signs in. `subject`: its own name for them, which stays theirs when their address goes to somebody else. */
export type Assertion = {
  readonly subject: string;
  readonly email: string | null;
  /** `false`: the provider says that nobody has shown the address to be theirs. */
  readonly emailVerified: boolean;
  readonly name: string | null;
  /** `null`: it says nothing of groups. */
  readonly groups: readonly string[] | null;
};

export type Known = { readonly memberId: string; readonly role: OrganizationRole; readonly suspended: boolean };
/** The member with the asserted address. `isLinked`: they sign in through this provider already, as somebody else. */
export type AddressOwner = Known & { readonly isLinked: boolean };

export type Facts = {
  readonly assertion: Assertion;
  readonly rules: AdmissionRules;
  /** The organization has shown that the domain of the address is its own, and lets this provider speak for it. */
  readonly domainIsOurs: boolean;
  /** Whoever the subject was before. */
  readonly known: Known | null;
  readonly addressOwner: AddressOwner | null;
};

/** `role`: what they become; `null`: they stay what they are. */
export type Admitted =
  | { readonly kind: 'known' | 'linked'; readonly memberId: string; readonly role: GrantableRole | null }
  | { readonly kind: 'new'; readonly email: string; readonly name: string; readonly role: GrantableRole };

/** Why somebody whom their provider let in is not let in here. */
export type AdmissionRefused = {
  readonly _tag: 'AdmissionRefused';
  readonly reason: 'no_address' | 'address_unverified' | 'domain_unverified' | 'address_taken' | 'not_invited' | 'no_group' | 'suspended';
};

const refuse = (reason: AdmissionRefused['reason']): Result<never, AdmissionRefused> => fail({ _tag: 'AdmissionRefused', reason });

/** The most that the groups of a person make of them; `undefined`: they say nothing. */
export function roleOfGroups({ groupRoles }: AdmissionRules, groups: readonly string[] | null): GrantableRole | undefined {
  const roles = groupRoles.filter(({ group }) => groups?.includes(group)).map(({ role }) => role);
  return roles.sort((a, b) => organizationRoleNames.indexOf(a) - organizationRoleNames.indexOf(b))[0];
}

/** Owners are made and unmade by people. Where no groups are mapped, a role is what people made it. */
function roleNow(rules: AdmissionRules, { role }: Known, assertion: Assertion): Result<GrantableRole | null, AdmissionRefused> {
  if (role === 'owner' || rules.groupRoles.length === 0 || assertion.groups === null) return ok(null);
  const now = roleOfGroups(rules, assertion.groups) ?? rules.defaultRole;
  if (now === null) return refuse('no_group');
  return ok(now === role ? null : now);
}

/**
 * Who somebody is here whom a provider vouches for. The subject decides; an address alone says nothing, unless its domain is the organization's, and then
 * only of a member whom nobody else signs in as: an address that went to a successor brings nobody's rights along.
 */
export function admit({ assertion, rules, domainIsOurs, known, addressOwner }: Facts): Result<Admitted, AdmissionRefused> {
  if (known) return admitAs('known', known, rules, assertion);
  const { email, emailVerified, groups } = assertion;
  if (email === null) return refuse('no_address');
  if (!emailVerified) return refuse('address_unverified');
  if (!domainIsOurs) return refuse('domain_unverified');
  if (addressOwner) return addressOwner.isLinked ? refuse('address_taken') : admitAs('linked', addressOwner, rules, assertion);
  if (!rules.admits) return refuse('not_invited');
  const role = roleOfGroups(rules, groups) ?? rules.defaultRole;
  return role === null ? refuse('no_group') : ok({ kind: 'new', email, name: assertion.name ?? email.split('@')[0]!, role });
}

function admitAs(kind: 'known' | 'linked', member: Known, rules: AdmissionRules, assertion: Assertion): Result<Admitted, AdmissionRefused> {
  if (member.suspended) return refuse('suspended');
  const role = roleNow(rules, member, assertion);
  return role.ok ? ok({ kind, memberId: member.memberId, role: role.value }) : role;
}
