/**
 * The catalogue: everything that somebody can be allowed to do, each with what it means to a person who hands it out. A route names exactly one, a
 * role and a scope are sets of them, and nothing else in the program decides what a credential may do.
 */
export const permissionCatalogue = {
  'audit.read': 'Read and verify the audit log of a project',
  'bots.administer': 'Read and change every bot of a project, also without a grant',
  'bots.change': 'Change bots that one owns or was granted',
  'bots.create': 'Create bots',
  'bots.delegate': 'Give bots work',
  'bots.delete': 'Delete bots',
  'bots.read': 'Read bots that one owns or was granted',
  'bots.share': 'Share bots that one owns',
  'chats.read': 'Read one’s own chats',
  'chats.write': 'Write in one’s own chats, and interrupt them',
  'executions.cancel': 'Cancel one’s own work',
  'executions.decide': 'Settle calls of one’s own work whose outcome is unknown',
  'executions.read': 'Read one’s own work',
  'feed.read': 'Read and watch what one did in a project',
  'keys.manage': 'Create, rotate and revoke API keys, and the tokens of service accounts',
  'keys.read': 'List API keys',
  'me.change': 'Change one’s own settings',
  'me.read': 'Read who one is, and one’s own settings',
  'members.create': 'Invite people and create service accounts',
  'members.manage': 'Change roles, suspend and remove members',
  'members.read': 'List the members',
  'models.manage': 'Connect model providers',
  'models.read': 'List models and connections',
  'organization.audit': 'Read and verify the audit log of the organization',
  'organization.change': 'Rename the organization',
  'organization.read': 'Read the organization',
  'projects.create': 'Create projects',
  'projects.change': 'Rename projects, and say who may do what in them',
  'projects.delete': 'Delete projects with everything in them',
  'projects.read': 'List the projects',
  'sessions.manage': 'List and end one’s own sessions',
  'sso.manage': 'Say by which identity providers people sign in',
  'sso.read': 'See by which identity providers people sign in',
  'tokens.create': 'Create and rotate tokens for oneself',
  'tokens.read': 'List one’s own tokens',
  'tokens.revoke': 'Revoke one’s own tokens',
} as const satisfies Readonly<Record<`${string}.${string}`, string>>;

export type PermissionName = keyof typeof permissionCatalogue;

export const permissionNames = Object.keys(permissionCatalogue) as readonly PermissionName[];

export const isPermissionName = (name: string): name is PermissionName => Object.hasOwn(permissionCatalogue, name);
