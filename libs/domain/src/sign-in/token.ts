export type TokenNotFound = { readonly _tag: 'TokenNotFound' };

/** `version` is the one to read and send again. */
export type SettingsConflict = { readonly _tag: 'SettingsConflict'; readonly version: number };

/** What a stored token and its member say about whether the credential counts, at the database's time. */
export type TokenState = { readonly revoked: boolean; readonly expired: boolean; readonly suspended: boolean };

export const tokenCounts = (token: TokenState): boolean => !token.revoked && !token.expired && !token.suspended;

/** A year; a token that lives longer is made without an end. Milliseconds. */
export const longestTokenLife = 365 * 24 * 60 * 60 * 1000;
