/** Characters. */
export const nameLimit = 100;

export type Forbidden = { readonly _tag: 'Forbidden' };
export type MemberConflict = { readonly _tag: 'MemberConflict' };
export type OrganizationExists = { readonly _tag: 'OrganizationExists' };
export type CreateMemberFailure = Forbidden | MemberConflict;
