import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiBody, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok, type Result } from '@domain/result.js';
import { FindServiceAccountQuery } from '@contexts/organizations/public/member.queries.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { CreateCredentialCommand } from '../commands/create-credential.command.js';
import { RevokeCredentialCommand } from '../commands/revoke-credential.command.js';
import { RotateCredentialCommand } from '../commands/rotate-credential.command.js';
import { findShownCredential, listCredentials, type CredentialsOf } from '../queries/credential-lists.js';
import { CreateTokenBody, pageAsked, RotateBody, TokenPage, TokensQuery, TokenView, TokenWithSecretView, toTokenView, toTokenWithSecretView, toWanted } from './credentials.dto.js';
import { accountProblems, accountTokenProblems, createAccountTokenProblems, named, rotateAccountTokenProblems } from './credentials.problems.js';

const missing = { _tag: 'ServiceAccountNotFound' } as const;

@ApiTags('Service accounts')
@Controller('v1/organization/service-accounts/:serviceAccountId/tokens')
export class ServiceAccountTokensController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Get()
  @Permit('keys.read')
  @ApiOperation({ operationId: 'listServiceAccountTokens', summary: 'List the tokens of a service account that are not revoked, oldest first' })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiOkResponse({ type: TokenPage })
  @ApiProblems(accountProblems)
  async listServiceAccountTokens(
    @CurrentIdentity() identity: Identity,
    @PublicId('serviceAccountId', 'member', accountProblems, 'ServiceAccountNotFound') accountId: string,
    @Query() query: TokensQuery,
  ): Promise<TokenPage> {
    const of = respond(await this.tokensOf(identity, accountId), accountProblems);
    const rows = await read(this.db, identity.context, (tx) => listCredentials(tx, of, pageAsked('token', query)));
    return pageOf(rows, query.limit, toTokenView, ({ id }) => toPublicId('token', id));
  }

  @Post()
  @Permit('keys.manage')
  @ApiOperation({
    operationId: 'createServiceAccountToken',
    summary: 'Create a token for a service account',
    description: 'It may do what the account may, and never more than you may. The token is in no later answer.',
  })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiCreatedResponse({ type: TokenWithSecretView })
  @ApiProblems(createAccountTokenProblems)
  async createServiceAccountToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('serviceAccountId', 'member', accountProblems, 'ServiceAccountNotFound') accountId: string,
    @Body() body: CreateTokenBody,
  ): Promise<TokenWithSecretView> {
    const of = respond(await this.tokensOf(identity, accountId), accountProblems);
    const made = await this.commands.execute(new CreateCredentialCommand(identity, of, toWanted(body)));
    return toTokenWithSecretView(respond(named(made, 'ServiceAccountNotFound', identity.permissions.has('keys.read')), createAccountTokenProblems));
  }

  @Get(':accountTokenId')
  @Permit('keys.read')
  @ApiOperation({ operationId: 'readServiceAccountToken', summary: 'Read a token of a service account' })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiParam({ name: 'accountTokenId' })
  @ApiOkResponse({ type: TokenView })
  @ApiProblems(accountTokenProblems)
  async readServiceAccountToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('serviceAccountId', 'member', accountTokenProblems, 'TokenNotFound') accountId: string,
    @PublicId('accountTokenId', 'token', accountTokenProblems, 'TokenNotFound') tokenId: string,
  ): Promise<TokenView> {
    const of = await this.tokensOf(identity, accountId);
    const found = of.ok ? await read(this.db, identity.context, (tx) => findShownCredential(tx, of.value, tokenId)) : null;
    return toTokenView(respond(found ? ok(found) : fail({ _tag: 'TokenNotFound' as const }), accountTokenProblems));
  }

  @Post(':accountTokenId/rotate')
  @HttpCode(200)
  @Permit('keys.manage')
  @ApiOperation({
    operationId: 'rotateServiceAccountToken',
    summary: 'Give a token of a service account that you made a new secret',
    description: 'The one before counts until the overlap ends. Nothing else of the token changes.',
  })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiParam({ name: 'accountTokenId' })
  @ApiBody({ type: RotateBody, required: false })
  @ApiOkResponse({ type: TokenWithSecretView })
  @ApiProblems(rotateAccountTokenProblems)
  async rotateServiceAccountToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('serviceAccountId', 'member', accountTokenProblems, 'TokenNotFound') accountId: string,
    @PublicId('accountTokenId', 'token', accountTokenProblems, 'TokenNotFound') tokenId: string,
    @Body() { overlapMs }: RotateBody,
  ): Promise<TokenWithSecretView> {
    const of = await this.tokensOf(identity, accountId);
    const rotated = of.ok ? await this.commands.execute(new RotateCredentialCommand(identity, of.value, tokenId, overlapMs)) : fail({ _tag: 'CredentialNotFound' as const });
    return toTokenWithSecretView(respond(named(rotated, 'TokenNotFound', identity.permissions.has('keys.read')), rotateAccountTokenProblems));
  }

  @Delete(':accountTokenId')
  @HttpCode(204)
  @Permit('keys.manage')
  @ApiOperation({ operationId: 'revokeServiceAccountToken', summary: 'Revoke a token of a service account', description: 'It counts no more from the next request on.' })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiParam({ name: 'accountTokenId' })
  @ApiNoContentResponse()
  @ApiProblems(accountTokenProblems)
  async revokeServiceAccountToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('serviceAccountId', 'member', accountTokenProblems, 'TokenNotFound') accountId: string,
    @PublicId('accountTokenId', 'token', accountTokenProblems, 'TokenNotFound') tokenId: string,
  ): Promise<void> {
    const of = await this.tokensOf(identity, accountId);
    const revoked = of.ok ? await this.commands.execute(new RevokeCredentialCommand(identity, of.value, tokenId)) : fail({ _tag: 'CredentialNotFound' as const });
    respond(named(revoked, 'TokenNotFound', true), accountTokenProblems);
  }

  /** A person's tokens are the person's: this way leads to none of them. */
  private async tokensOf({ context }: Identity, accountId: string): Promise<Result<CredentialsOf, typeof missing>> {
    const account = await this.queries.execute(new FindServiceAccountQuery(context, accountId));
    return account ? ok({ kind: 'user_token', memberId: account.id }) : fail(missing);
  }
}
