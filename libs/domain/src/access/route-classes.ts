import type { PermissionName } from './permissions.js';

/**
 * What a route counts as for the limits of its callers, each with how often a principal may in a minute unless the installation says otherwise: far above
 * what any person does, so that it is met by a program that runs wild and by nobody else.
 */
export const routeClasses = {
  read: { summary: 'Read and list', perMinute: 60_000 },
  write: { summary: 'Change what one works with', perMinute: 30_000 },
  message: { summary: 'Send messages', perMinute: 30_000 },
  stream: { summary: 'Open streams, and wait for events', perMinute: 12_000 },
  admin: { summary: 'Change people, credentials, projects and connections', perMinute: 6_000 },
  audit: { summary: 'Verify and export whole audit logs', perMinute: 120 },
  provisioning: { summary: 'What directories say of people and groups', perMinute: 6_000 },
} as const satisfies Readonly<Record<string, { readonly summary: string; readonly perMinute: number }>>;

export type RouteClass = keyof typeof routeClasses;
export const routeClassNames = Object.keys(routeClasses) as readonly RouteClass[];

/** Permissions of these areas are about who may act and where; changing that is rare. */
const administering = ['keys', 'members', 'models', 'organization', 'projects', 'sessions', 'sso', 'tokens'] as const;

/** The class of a route that names none. */
export function routeClassOf(method: string, permission: PermissionName): RouteClass {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return administering.some((area) => permission.startsWith(`${area}.`)) ? 'admin' : 'write';
}
