/** Characters. */
export const nameLimit = 100;

export type Forbidden = { readonly _tag: 'Forbidden' };
export type MemberConflict = { readonly _tag: 'MemberConflict' };
export type MemberNotFound = { readonly _tag: 'MemberNotFound' };
/** `revision` is the one to read and send again. */
export type MemberRevisionConflict = { readonly _tag: 'MemberRevisionConflict'; readonly revision: number };
/** Nobody changes their own role or suspends themselves. */
export type OwnMembership = { readonly _tag: 'OwnMembership' };
/** A program owns no organization: an owner answers for it. */
export type OwnerIsNoPerson = { readonly _tag: 'OwnerIsNoPerson' };
/** An organization always has a person who owns it and is not suspended. */
export type LastOwner = { readonly _tag: 'LastOwner' };
/** The directory of this identity provider (a public id) says that they are gone: it alone takes that back. */
export type StoppedByDirectory = { readonly _tag: 'StoppedByDirectory'; readonly identityProvider: string };
/** `revision` is the one to read and send again. */
export type OrganizationConflict = { readonly _tag: 'OrganizationConflict'; readonly revision: number };
export type ServiceAccountNotFound = { readonly _tag: 'ServiceAccountNotFound' };
export type OrganizationExists = { readonly _tag: 'OrganizationExists' };
export type AdmitMemberFailure = Forbidden | MemberConflict;
