import type { ServiceAccountNotFound } from '@domain/organizations/member.js';
import { fail, type Result } from '@domain/result.js';
import type { ApiKeyNotFound, CreateCredentialFailure, RotateCredentialFailure, TokenNotFound } from '@domain/sign-in/token.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { CredentialNotFound } from '../commands/rotate-credential.command.js';

const CredentialTooWide = {
  status: 403,
  message: 'Your own credential may not do all of this, or not everywhere.',
  example: { scopes: ['bots.create'], projects: ['proj_01k0w3j9v7e8t9q0c5m2x4z6b8'], allProjects: false },
};
const noSuchToken = { TokenNotFound: { status: 404, message: 'You have no token with this ID.' } };
const noSuchAccountToken = { TokenNotFound: { status: 404, message: 'There is no such token of such a service account.' } };
const noSuchKey = { ApiKeyNotFound: { status: 404, message: 'Your organization has no API key with this ID.' } };

export const createCredentialProblems = {
  CredentialTooWide,
  ProjectNotFound: { status: 404, message: 'One of the projects is none of your organization.' },
} satisfies ProblemTable<CreateCredentialFailure>;

const rotateCredentialProblems = {
  CredentialExpired: { status: 409, message: 'It has expired: make a new one.' },
  CredentialTooWide,
  NotItsMaker: { status: 403, message: 'Only who made it may rotate it: revoke it, and make another.' },
} satisfies ProblemTable<RotateCredentialFailure>;

export const tokenProblems = noSuchToken satisfies ProblemTable<TokenNotFound>;
export const rotateTokenProblems = { ...rotateCredentialProblems, ...noSuchToken } satisfies ProblemTable<RotateCredentialFailure | TokenNotFound>;
export const apiKeyProblems = noSuchKey satisfies ProblemTable<ApiKeyNotFound>;
export const rotateApiKeyProblems = { ...rotateCredentialProblems, ...noSuchKey } satisfies ProblemTable<RotateCredentialFailure | ApiKeyNotFound>;
export const accountTokenProblems = noSuchAccountToken satisfies ProblemTable<TokenNotFound>;
export const rotateAccountTokenProblems = { ...rotateCredentialProblems, ...noSuchAccountToken } satisfies ProblemTable<RotateCredentialFailure | TokenNotFound>;
export const accountProblems = {
  ServiceAccountNotFound: { status: 404, message: 'Your organization has no service account with this ID.' },
} satisfies ProblemTable<ServiceAccountNotFound>;
export const createAccountTokenProblems = { ...createCredentialProblems, ...accountProblems } satisfies ProblemTable<CreateCredentialFailure | ServiceAccountNotFound>;

/** What is missing, by its name on the route. Who may not read the thing learns nothing else of it either. */
export function named<A, F extends { readonly _tag: string }, T extends string>(
  result: Result<A, F | CredentialNotFound>,
  missing: T,
  mayRead: boolean,
): Result<A, Exclude<F, CredentialNotFound> | { readonly _tag: T }> {
  if (result.ok) return result;
  return !mayRead || result.failure._tag === 'CredentialNotFound' ? fail({ _tag: missing }) : fail(result.failure as Exclude<F, CredentialNotFound>);
}
