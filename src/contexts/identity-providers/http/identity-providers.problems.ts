import type { DomainNotFound } from '@domain/identity-providers/domain-failures.js';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import type { ProblemTable } from '@platform/http/problem.js';
import { publicUrlProblems, type PublicUrlMissing } from '@platform/identity/public-url.js';
import type { ChangeProviderFailure } from '../commands/change-provider.command.js';
import type { ClaimDomainFailure } from '../commands/claim-domain.command.js';
import type { CreateProviderFailure } from '../commands/create-provider.command.js';
import type { DeleteProviderFailure } from '../commands/delete-provider.command.js';
import type { ReleaseDomainFailure } from '../commands/release-domain.command.js';
import type { VerifyDomainFailure } from '../commands/verify-domain.command.js';

const Forbidden = { status: 403, message: 'Only owners say by which identity providers people sign in.' };
const IdentityProviderNotFound = { status: 404, message: 'There is no identity provider with this ID.' };
const DomainNotFound = { status: 404, message: 'The organization has claimed no domain with this ID.' };

export const createProviderProblems = {
  ...publicUrlProblems,
  Forbidden,
  IdentityProviderInvalid: {
    status: 400,
    message: 'A field of the identity provider does not fit: see field and reason.',
    example: { field: 'issuer', reason: 'must begin with https://' },
  },
  IdentityProviderNameTaken: { status: 409, message: 'Another identity provider has this name.', example: { field: 'name' } },
} satisfies ProblemTable<CreateProviderFailure | PublicUrlMissing>;

export const readProviderProblems = { ...publicUrlProblems, IdentityProviderNotFound } satisfies ProblemTable<IdentityProviderNotFound | PublicUrlMissing>;

export const changeProviderProblems = {
  ...createProviderProblems,
  IdentityProviderNotFound,
  IdentityProviderConflict: { status: 409, message: 'The identity provider was changed since you read it.', example: { revision: 2 } },
} satisfies ProblemTable<ChangeProviderFailure | PublicUrlMissing>;

export const deleteProviderProblems = { Forbidden, IdentityProviderNotFound } satisfies ProblemTable<DeleteProviderFailure>;

export const claimDomainProblems = {
  Forbidden,
  IdentityProviderNotFound: { ...IdentityProviderNotFound, status: 400 },
  DomainInvalid: { status: 400, message: 'This is no domain that somebody can own: give one such as example.com.', example: { field: 'domain' } },
  DomainClaimed: { status: 409, message: 'Your organization has claimed this domain already.', example: { field: 'domain' } },
} satisfies ProblemTable<ClaimDomainFailure>;

export const readDomainProblems = { DomainNotFound } satisfies ProblemTable<DomainNotFound>;

export const verifyDomainProblems = {
  Forbidden,
  DomainNotFound,
  DomainUnproven: {
    status: 409,
    message: 'The DNS of the domain does not say so yet: add the TXT record, and try again once it is published.',
    example: { name: '_openbot.example.com', value: 'openbot-verification=…', found: 0 },
  },
  DomainUnreachable: { status: 503, message: 'DNS does not answer at the moment. Try again.', example: { retryAfterMs: 10_000 } },
} satisfies ProblemTable<VerifyDomainFailure>;

export const releaseDomainProblems = { Forbidden, DomainNotFound } satisfies ProblemTable<ReleaseDomainFailure>;
