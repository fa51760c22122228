import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { RevokeTokenCommand } from '../commands/revoke-token.command.js';
import { IssueTokenCommand } from '../public/issue-token.command.js';
import { listTokens } from '../queries/tokens.js';
import { CreatedTokenView, CreateTokenBody, TokenPage, TokensQuery, toCreatedTokenView, toTokenView } from './sign-in.dto.js';
import { revokeTokenProblems } from './sign-in.problems.js';

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
  async listTokens(@CurrentIdentity() { context, memberId }: Identity, @Query() query: TokensQuery): Promise<TokenPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('token', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listTokens(tx, memberId, page));
    return pageOf(rows, query.limit, toTokenView, ({ id }) => toPublicId('token', id));
  }

  @Post()
  @Permit('tokens.create')
  @ApiOperation({ operationId: 'createToken', summary: 'Create a token for yourself', description: 'The token is in no later answer: the server keeps a hash of it.' })
  @ApiCreatedResponse({ type: CreatedTokenView })
  @ApiProblems()
  async createToken(@CurrentIdentity() { context, memberId }: Identity, @Body() { name, expiresInMs }: CreateTokenBody): Promise<CreatedTokenView> {
    return toCreatedTokenView(name, await this.commands.execute(new IssueTokenCommand(context, memberId, { name, expiresInMs: expiresInMs ?? null })));
  }

  @Delete(':tokenId')
  @HttpCode(204)
  @Permit('tokens.revoke')
  @ApiOperation({ operationId: 'revokeToken', summary: 'Revoke one of your tokens', description: 'It counts no more from the next request on.' })
  @ApiParam({ name: 'tokenId' })
  @ApiNoContentResponse()
  @ApiProblems(revokeTokenProblems)
  async revokeToken(@CurrentIdentity() identity: Identity, @PublicId('tokenId', 'token', revokeTokenProblems, 'TokenNotFound') tokenId: string): Promise<void> {
    respond(await this.commands.execute(new RevokeTokenCommand(identity, tokenId)), revokeTokenProblems);
  }
}
