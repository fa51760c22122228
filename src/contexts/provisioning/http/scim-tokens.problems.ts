import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import type { ProblemTable } from '@platform/http/problem.js';
import { mostTokens, type CreateScimTokenFailure } from '../commands/create-scim-token.command.js';
import type { DeleteScimTokenFailure } from '../commands/delete-scim-token.command.js';

const Forbidden = { status: 403, message: 'Only owners say which directories provision people.' };
const IdentityProviderNotFound = { status: 404, message: 'There is no identity provider with this ID.' };

export const listScimTokensProblems = { IdentityProviderNotFound } satisfies ProblemTable<IdentityProviderNotFound>;
export const createScimTokenProblems = {
  Forbidden,
  IdentityProviderNotFound,
  TooManyScimTokens: { status: 409, message: 'The identity provider has as many as it can: delete one first.', example: { most: mostTokens } },
} satisfies ProblemTable<CreateScimTokenFailure>;
export const deleteScimTokenProblems = {
  Forbidden,
  ScimTokenNotFound: { status: 404, message: 'The identity provider has no SCIM token with this ID.' },
} satisfies ProblemTable<DeleteScimTokenFailure>;
