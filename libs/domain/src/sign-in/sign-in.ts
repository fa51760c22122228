import type { PasswordRefused } from './password.js';

/** Whoever it was: nobody, or somebody without a password, with another one, or who may not use it. */
export type SignInRefused = { readonly _tag: 'SignInRefused' };
/** Tried too often of late. */
export type SignInLimited = { readonly _tag: 'SignInLimited'; readonly retryAfterMs: number };
/** More passwords are being checked than this process does at once. */
export type SignInBusy = { readonly _tag: 'SignInBusy'; readonly retryAfterMs: number };
/** There is more than one organization, or none: nobody but the caller knows which is meant. */
export type OrganizationMissing = { readonly _tag: 'OrganizationMissing'; readonly field: 'organization' };
/** It was used, has expired, was replaced, or never was. */
export type LinkNotFound = { readonly _tag: 'LinkNotFound' };
export type PasswordWrong = { readonly _tag: 'PasswordWrong'; readonly field: 'current' };
/** A password is for those whom an owner has allowed one. */
export type PasswordNotAllowed = { readonly _tag: 'PasswordNotAllowed' };
/** Nobody takes away from themselves what the session of their request came from. */
export type OwnWayIn = { readonly _tag: 'OwnWayIn' };
/** Nobody signs in with a password who has no address. */
export type AddressMissing = { readonly _tag: 'AddressMissing' };

export type SignInFailure = SignInRefused | SignInLimited | SignInBusy;
export type SetUpFailure = LinkNotFound | PasswordRefused | SignInBusy;
export type ChangePasswordFailure = PasswordNotAllowed | PasswordWrong | PasswordRefused | SignInLimited | SignInBusy;

/** How long a link counts that sets a first password. Milliseconds. */
export const setupLinkLife = 60 * 60 * 1000;
