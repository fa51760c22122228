import { serviceAccountRoles, type ServiceAccountRole } from '../access/roles.js';
import { fail, ok, type Result } from '../result.js';

export const providerKinds = ['oidc'] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** What a provider can make of somebody. Who owns the organization, people decide. */
export const grantableRoles = serviceAccountRoles;
export type GrantableRole = ServiceAccountRole;

/** Who is in a group of the company is this here. */
export type GroupRole = { readonly group: string; readonly role: GrantableRole };

/** How the people of a provider become members. */
export type AdmissionRules = {
  /** Whether somebody whom nobody invited becomes a member by signing in. */
  readonly admits: boolean;
  /** What they are whose groups say nothing; `null`: without a group nobody comes in. */
  readonly defaultRole: GrantableRole | null;
  readonly groupRoles: readonly GroupRole[];
};

export type OidcSettings = {
  /** The issuer, exactly as its tokens name it. Its discovery document lies below. */
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The claim that lists the groups of a person. */
  readonly groupsClaim: string;
};

export type ProviderSettings = AdmissionRules & OidcSettings & { readonly name: string; readonly enabled: boolean };

/** `field`: where in the body. */
export type IdentityProviderInvalid = { readonly _tag: 'IdentityProviderInvalid'; readonly field: string; readonly reason: string };
export type IdentityProviderNotFound = { readonly _tag: 'IdentityProviderNotFound' };
export type IdentityProviderConflict = { readonly _tag: 'IdentityProviderConflict'; readonly revision: number };
export type IdentityProviderNameTaken = { readonly _tag: 'IdentityProviderNameTaken'; readonly field: 'name' };

export const defaultScopes = ['openid', 'email', 'profile'] as const;
const longestIssuer = 2_048;

const invalid = (field: string, reason: string): Result<never, IdentityProviderInvalid> => fail({ _tag: 'IdentityProviderInvalid', field, reason });

const isLocal = (host: string): boolean => host === 'localhost' || host === '127.0.0.1' || host === '[::1]';

/** Rules that span fields, and the form of the issuer. `production`: a provider is reached by https alone, or what it says is worth nothing. */
export function checkProvider(settings: ProviderSettings, production: boolean): Result<ProviderSettings, IdentityProviderInvalid> {
  const url = settings.issuer.length <= longestIssuer && URL.canParse(settings.issuer) ? new URL(settings.issuer) : null;
  if (!url) return invalid('issuer', 'must be the URL of the provider');
  const isPlain = url.protocol === 'http:' && !production && isLocal(url.hostname);
  if (url.protocol !== 'https:' && !isPlain) return invalid('issuer', 'must begin with https://');
  if (url.search || url.hash || url.username || url.password) return invalid('issuer', 'must have no user, query or fragment');
  if (!settings.scopes.includes('openid')) return invalid('scopes', 'must contain openid');
  const groups = settings.groupRoles.map(({ group }) => group);
  const twice = groups.findIndex((group, index) => groups.indexOf(group) !== index);
  if (twice >= 0) return invalid(`groupRoles[${twice}].group`, 'is named twice');
  return ok(settings);
}
