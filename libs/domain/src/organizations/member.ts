export const memberRoles = ['owner', 'member'] as const;
/** An owner answers for the organization: only owners make members, and every bot of it is open to them. */
export type MemberRole = (typeof memberRoles)[number];

/** Characters. */
export const nameLimit = 100;

export type Forbidden = { readonly _tag: 'Forbidden' };
export type MemberConflict = { readonly _tag: 'MemberConflict' };
export type OrganizationExists = { readonly _tag: 'OrganizationExists' };
export type CreateMemberFailure = Forbidden | MemberConflict;
