import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { CreateCredentialCommand } from '../commands/create-credential.command.js';
import { RevokeCredentialCommand } from '../commands/revoke-credential.command.js';
import { RotateCredentialCommand } from '../commands/rotate-credential.command.js';
import { findShownCredential, listCredentials } from '../queries/credential-lists.js';
import { CreateTokenBody, pageAsked, RotateBody, TokenPage, TokensQuery, TokenView, TokenWithSecretView, toTokenView, toTokenWithSecretView, toWanted } from './credentials.dto.js';
import { createCredentialProblems, named, rotateTokenProblems, tokenProblems } from './credentials.problems.js';

const own = ({ memberId }: Identity) => ({ kind: 'user_token', memberId }) as const;
const mayRead = ({ permissions }: Identity): boolean => permissions.has('tokens.read');

@ApiTags('Me')
@Controller('v1/me/tokens')
export class TokensController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('tokens.read')
  @ApiOperation({ operationId: 'listTokens', summary: 'List your tokens that are not revoked, oldest first' })
  @ApiOkResponse({ type: TokenPage })
  @ApiProblems()
  async listTokens(@CurrentIdentity() identity: Identity, @Query() query: TokensQuery): Promise<TokenPage> {
    const rows = await read(this.db, identity.context, (tx) => listCredentials(tx, own(identity), pageAsked('token', query)));
    return pageOf(rows, query.limit, toTokenView, ({ id }) => toPublicId('token', id));
  }

  @Post()
  @Permit('tokens.create')
  @ApiOperation({
    operationId: 'createToken',
    summary: 'Create a token for yourself',
    description: 'It may do no more than the credential of this request. The token is in no later answer: the server keeps a hash of it.',
  })
  @ApiCreatedResponse({ type: TokenWithSecretView })
  @ApiProblems(createCredentialProblems)
  async createToken(@CurrentIdentity() identity: Identity, @Body() body: CreateTokenBody): Promise<TokenWithSecretView> {
    return toTokenWithSecretView(respond(await this.commands.execute(new CreateCredentialCommand(identity, own(identity), toWanted(body))), createCredentialProblems));
  }

  @Get(':tokenId')
  @Permit('tokens.read')
  @ApiOperation({ operationId: 'readToken', summary: 'Read one of your tokens' })
  @ApiParam({ name: 'tokenId' })
  @ApiOkResponse({ type: TokenView })
  @ApiProblems(tokenProblems)
  async readToken(@CurrentIdentity() identity: Identity, @PublicId('tokenId', 'token', tokenProblems, 'TokenNotFound') tokenId: string): Promise<TokenView> {
    const found = await read(this.db, identity.context, (tx) => findShownCredential(tx, own(identity), tokenId));
    return toTokenView(respond(found ? ok(found) : fail({ _tag: 'TokenNotFound' as const }), tokenProblems));
  }

  @Post(':tokenId/rotate')
  @HttpCode(200)
  @Permit('tokens.create')
  @ApiOperation({
    operationId: 'rotateToken',
    summary: 'Give one of your tokens a new secret',
    description: 'The one before counts until the overlap ends. Nothing else of the token changes.',
  })
  @ApiParam({ name: 'tokenId' })
  @ApiBody({ type: RotateBody, required: false })
  @ApiOkResponse({ type: TokenWithSecretView })
  @ApiProblems(rotateTokenProblems)
  async rotateToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('tokenId', 'token', rotateTokenProblems, 'TokenNotFound') tokenId: string,
    @Body() { overlapMs }: RotateBody,
  ): Promise<TokenWithSecretView> {
    const rotated = await this.commands.execute(new RotateCredentialCommand(identity, own(identity), tokenId, overlapMs));
    return toTokenWithSecretView(respond(named(rotated, 'TokenNotFound', mayRead(identity)), rotateTokenProblems));
  }

  @Delete(':tokenId')
  @HttpCode(204)
  @Permit('tokens.revoke')
  @ApiOperation({ operationId: 'revokeToken', summary: 'Revoke one of your tokens', description: 'It counts no more from the next request on.' })
  @ApiParam({ name: 'tokenId' })
  @ApiNoContentResponse()
  @ApiProblems(tokenProblems)
  async revokeToken(@CurrentIdentity() identity: Identity, @PublicId('tokenId', 'token', tokenProblems, 'TokenNotFound') tokenId: string): Promise<void> {
    respond(named(await this.commands.execute(new RevokeCredentialCommand(identity, own(identity), tokenId)), 'TokenNotFound', true), tokenProblems);
  }
}
