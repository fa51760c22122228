/** The tenant that a transaction works in. `projectId: null` sees organization-wide rows alone. */
export type TenantContext = { readonly organizationId: string; readonly projectId: string | null };
