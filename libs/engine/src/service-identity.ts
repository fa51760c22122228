import { v5 as uuidv5 } from 'uuid';
import type { TenantContext } from '@domain/tenancy.js';

/**
 * The context of work that belongs to no organization. It is a tenant like any other to the policies, so that no tenant sees it and it sees none; no
 * organization can have this id, and the API's login cannot enter it.
 */
export const platformContext = { organizationId: '00000000-0000-0000-0000-000000000000', projectId: '00000000-0000-0000-0000-000000000000' } as const satisfies TenantContext;

/** The context of work that belongs to an organization and to none of its projects: it outlives each of them. */
export const organizationContext = (organizationId: string) => ({ organizationId, projectId: platformContext.projectId }) as const satisfies TenantContext;

/** Who acts where nobody is a member: a service of this program, for the platform or for one organization. Never made out of a member or a token. */
export type ServiceIdentity = { readonly service: string; readonly context: TenantContext & { readonly projectId: string } };

const namespace = '5f1d3d9c-3e0b-4c53-9c0e-7b5a3a3f6d11';
/** The scope of a service's command keys: no member, token or other service has the same. */
export const serviceScope = (service: string): string => uuidv5(`service:${service}`, namespace);

/** A service's workflow says in its name whose it is: nothing else can admit it, and the service can admit no other. */
export const serviceWorkflow = (service: string, name: string): string => `${service}/${name}`;

/** The service has no longer, or never had, the right to do what its work does. */
export class AccessLost extends Error {
  constructor(readonly service: string) {
    super(`the service ${service} may not act here any more`);
  }
}

/** Stored work whose workflow is of another owner than its row says. */
export class WrongOwner extends Error {
  constructor(workflow: string) {
    super(`"${workflow}" is not this owner's workflow`);
  }
}
