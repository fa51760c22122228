export type TokenNotFound = { readonly _tag: 'TokenNotFound' };

/** `version` is the one to read and send again. */
export type SettingsConflict = { readonly _tag: 'SettingsConflict'; readonly version: number };

/** What is stored of a credential says whether it counts, at the database's time. `suspended`: whoever acts by it or made it, or removed. */
export type CredentialState = { readonly revoked: boolean; readonly expired: boolean; readonly suspended: boolean };

export const credentialCounts = ({ revoked, expired, suspended }: CredentialState): boolean => !revoked && !expired && !suspended;

/** A year; a token that lives longer is made without an end. Milliseconds. */
export const longestTokenLife = 365 * 24 * 60 * 60 * 1000;
