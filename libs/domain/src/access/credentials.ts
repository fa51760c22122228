import { permissionNames, type PermissionName } from './permissions.js';
import { common, rightsOf, within, type Rights, type Standing } from './rights.js';

export const credentialKinds = ['user_token', 'api_key', 'session'] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** A person, a program of the organization, or the mirror by which an API key acts in one project. */
export const memberKinds = ['person', 'service_account', 'api_key'] as const;
export type MemberKind = (typeof memberKinds)[number];

/** What a credential is narrowed to; null narrows nothing. */
export type Narrowing = { readonly scopes: readonly string[] | null; readonly projects: readonly string[] | null };

/** Who may act is for people to decide: a program that could make credentials or members would outlive its own in them. */
const peoplesOwn = ['keys.manage', 'members.create', 'members.manage', 'sessions.manage', 'sso.manage'] as const satisfies readonly PermissionName[];

/** A key is its only credential. */
const nobodysKey = [...peoplesOwn, 'tokens.create', 'tokens.read', 'tokens.revoke'] as const satisfies readonly PermissionName[];

/** What is the organization's and no project's: a credential for some projects changes none of it, and reads nothing that tells of the others. */
const beyondProjects = [
  'keys.manage',
  'keys.read',
  'members.create',
  'members.manage',
  'models.manage',
  'organization.audit',
  'organization.change',
  'projects.create',
  'sso.manage',
  'sso.read',
] as const satisfies readonly PermissionName[];

const denied: Readonly<Record<MemberKind, readonly PermissionName[]>> = { person: [], service_account: peoplesOwn, api_key: nobodysKey };

/** What an API key can be given. */
export const keyScopes = permissionNames.filter((name) => !denied.api_key.includes(name));

const without = (rights: Rights, names: readonly PermissionName[]): Rights => new Set([...rights].filter((name) => !names.includes(name)));

export type CredentialFacts = {
  readonly kind: MemberKind;
  /** Of who acts by it; null for an API key, which has scopes and no role. */
  readonly acting: Standing | null;
  /** Of the person who made it, and answers for it. */
  readonly maker: Standing;
} & Narrowing;

/** What a credential may do in a project now: what who acts by it may, and its maker may, within what it is narrowed to. */
export function rightsOfCredential({ kind, acting, maker, scopes, projects }: CredentialFacts): Rights {
  const made = rightsOf(maker);
  const both = without(acting === null ? made : common(rightsOf(acting), made), denied[kind]);
  return within(projects === null ? both : without(both, beyondProjects), scopes);
}

export type Excess = {
  readonly scopes: readonly PermissionName[];
  readonly projects: readonly string[];
  /** Wanted were all projects, also those to come, and the credential is for some. */
  readonly allProjects: boolean;
};

/** What of a wanted credential goes beyond the one that asks for it; `reach` is what that one may do in any of its projects. Null: nothing. */
export function excessOf(held: Narrowing, reach: Rights, wanted: Narrowing): Excess | null {
  const { scopes: own, projects: places } = held;
  const isScoped = (name: string): boolean => own === null || own.includes(name);
  const scopes = permissionNames.filter((name) => (wanted.scopes === null ? !isScoped(name) : wanted.scopes.includes(name) && !(isScoped(name) && reach.has(name))));
  const projects = places === null ? [] : (wanted.projects ?? []).filter((id) => !places.includes(id));
  const allProjects = places !== null && wanted.projects === null;
  return scopes.length + projects.length > 0 || allProjects ? { scopes, projects, allProjects } : null;
}

/** What a new secret of a credential would give whoever asks beyond the credential that they ask with. Rights need no look: both have one maker. */
export const excessOfSecret = (held: Narrowing, rotated: Narrowing): Excess | null => excessOf(held, new Set(permissionNames), rotated);
