import { permissionNames, type PermissionName } from './permissions.js';

const oneself = ['me.change', 'me.read', 'sessions.manage', 'tokens.create', 'tokens.read', 'tokens.revoke'] as const satisfies readonly PermissionName[];
const around = ['members.read', 'organization.read', 'projects.read'] as const satisfies readonly PermissionName[];
const looking = ['bots.read', 'chats.read', 'executions.read', 'feed.read', 'models.read'] as const satisfies readonly PermissionName[];
const working = [
  'bots.change',
  'bots.create',
  'bots.delegate',
  'bots.delete',
  'bots.share',
  'chats.write',
  'executions.cancel',
  'executions.decide',
] as const satisfies readonly PermissionName[];

type Role = { readonly summary: string; readonly permissions: readonly PermissionName[] };

/** What a member of an organization is, most first. Each member has one. */
export const organizationRoles = {
  owner: { summary: 'Answers for the organization and may do everything in it', permissions: permissionNames },
  admin: {
    summary: 'Runs the organization: everything but what is an owner’s alone',
    permissions: permissionNames.filter((name) => name !== 'projects.delete' && name !== 'sso.manage'),
  },
  member: { summary: 'Works with bots', permissions: [...oneself, ...around, ...looking, ...working] },
  viewer: { summary: 'Sees what was shared, and changes nothing', permissions: [...oneself, ...around, ...looking] },
  auditor: { summary: 'Sees who did what, and nobody’s content', permissions: [...oneself, ...around, 'audit.read', 'keys.read', 'organization.audit', 'sso.read'] },
} as const satisfies Readonly<Record<string, Role>>;

/** What somebody is in one project besides: it only ever adds. */
export const projectRoles = {
  admin: { summary: 'Runs this project', permissions: [...looking, ...working, 'bots.administer', 'projects.change'] },
  member: { summary: 'Works with the bots of this project', permissions: [...looking, ...working] },
  viewer: { summary: 'Sees what was shared in this project', permissions: looking },
} as const satisfies Readonly<Record<string, Role>>;

export type OrganizationRole = keyof typeof organizationRoles;
export type ProjectRole = keyof typeof projectRoles;

export const organizationRoleNames = Object.keys(organizationRoles) as readonly OrganizationRole[];
export const projectRoleNames = Object.keys(projectRoles) as readonly ProjectRole[];

/** An owner answers for the organization: a program cannot. */
export const serviceAccountRoles = ['admin', 'member', 'viewer', 'auditor'] as const satisfies readonly OrganizationRole[];
export type ServiceAccountRole = (typeof serviceAccountRoles)[number];
