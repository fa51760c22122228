export type SessionNotFound = { readonly _tag: 'SessionNotFound' };
/** The request came with a token, which is revoked where it was made. */
export type NotASession = { readonly _tag: 'NotASession' };
