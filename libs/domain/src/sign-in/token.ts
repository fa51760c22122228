import type { Excess } from '../access/credentials.js';
import type { ProjectNotFound } from '../organizations/project.js';

export type TokenNotFound = { readonly _tag: 'TokenNotFound' };
export type ApiKeyNotFound = { readonly _tag: 'ApiKeyNotFound' };

/** A credential makes none that may do more, or elsewhere, than it may itself. The fields say what is missing. */
export type CredentialTooWide = { readonly _tag: 'CredentialTooWide' } & Excess;
/** What a credential may do follows its maker: in other hands a new secret would be somebody else's rights. */
export type NotItsMaker = { readonly _tag: 'NotItsMaker' };
export type CredentialExpired = { readonly _tag: 'CredentialExpired' };

export type CreateCredentialFailure = CredentialTooWide | ProjectNotFound;
export type RotateCredentialFailure = CredentialExpired | CredentialTooWide | NotItsMaker;

/** `version` is the one to read and send again. */
export type SettingsConflict = { readonly _tag: 'SettingsConflict'; readonly version: number };

/** What is stored of a credential says whether it counts, at the database's time. `suspended`: whoever acts by it or made it, or removed. */
export type CredentialState = { readonly revoked: boolean; readonly expired: boolean; readonly suspended: boolean };

export const credentialCounts = ({ revoked, expired, suspended }: CredentialState): boolean => !revoked && !expired && !suspended;

/** A year; a token that lives longer is made without an end. Milliseconds. */
export const longestTokenLife = 365 * 24 * 60 * 60 * 1000;

/** How long the secret before a rotation still counts. Milliseconds. */
export const defaultOverlap = 60 * 60 * 1000;
export const longestOverlap = 30 * 24 * 60 * 60 * 1000;

/** Projects that one credential can name. */
export const credentialProjectsLimit = 100;
