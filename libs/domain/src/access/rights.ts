import type { PermissionName } from './permissions.js';
import { organizationRoles, projectRoles, type OrganizationRole, type ProjectRole } from './roles.js';

export type Rights = ReadonlySet<PermissionName>;

/** What a principal is in the organization, and in the project in which it acts. */
export type Standing = { readonly role: OrganizationRole; readonly projectRole: ProjectRole | null };

export const rightsOf = ({ role, projectRole }: Standing): Rights =>
  new Set<PermissionName>([...organizationRoles[role].permissions, ...(projectRole ? projectRoles[projectRole].permissions : [])]);

/** What of `rights` a credential with these scopes has. `null`: it was made without any, and has all. */
export const within = (rights: Rights, scopes: readonly string[] | null): Rights => (scopes === null ? rights : new Set([...rights].filter((name) => scopes.includes(name))));

/** What both may do: somebody who acts for another never has more than either. */
export const common = (one: Rights, other: Rights): Rights => new Set([...one].filter((name) => other.has(name)));

export const covers = (rights: Rights, wanted: Iterable<PermissionName>): boolean => [...wanted].every((name) => rights.has(name));

/** Whether bots work for somebody with these rights: what goes on without it is stopped. */
export const mayHaveWork = (rights: Rights): boolean => rights.has('bots.delegate');

/** Nobody makes somebody who may do what they themselves may not. */
export const mayAppoint = (rights: Rights, role: OrganizationRole): boolean => covers(rights, organizationRoles[role].permissions);

/** Nor does anybody give a role in a project that holds what they may not do there. */
export const mayAssign = (rights: Rights, role: ProjectRole): boolean => covers(rights, projectRoles[role].permissions);
