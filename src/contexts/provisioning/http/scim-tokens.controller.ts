import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { CreateScimTokenCommand } from '../commands/create-scim-token.command.js';
import { DeleteScimTokenCommand } from '../commands/delete-scim-token.command.js';
import { listTokens } from '../queries/scim-tokens.js';
import { createScimTokenProblems, deleteScimTokenProblems, listScimTokensProblems } from './scim-tokens.problems.js';
import { CreateScimTokenBody, ScimTokenPage, ScimTokensQuery, ScimTokenWithSecretView, toScimTokenView, toScimTokenWithSecretView } from './scim-tokens.dto.js';

@ApiTags('Identity providers')
@Controller('v1/organization/identity-providers/:providerId/scim-tokens')
export class ScimTokensController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Post()
  @Permit('sso.manage')
  @ApiOperation({
    operationId: 'createScimToken',
    summary: 'Create a token by which a directory provisions people',
    description: 'Owners only. It is good for `/scim/v2` alone. To rotate it, make a second one and delete the first. The token is in no later answer.',
  })
  @ApiParam({ name: 'providerId' })
  @ApiCreatedResponse({ type: ScimTokenWithSecretView })
  @ApiProblems(createScimTokenProblems)
  async createToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('providerId', 'identityProvider', createScimTokenProblems, 'IdentityProviderNotFound') providerId: string,
    @Body() { name, expiresInMs }: CreateScimTokenBody,
  ): Promise<ScimTokenWithSecretView> {
    return toScimTokenWithSecretView(
      respond(await this.commands.execute(new CreateScimTokenCommand(identity, providerId, { name, expiresInMs: expiresInMs ?? null })), createScimTokenProblems),
    );
  }

  @Get()
  @Permit('sso.read')
  @ApiOperation({ operationId: 'listScimTokens', summary: 'List the tokens of a directory, oldest first' })
  @ApiParam({ name: 'providerId' })
  @ApiOkResponse({ type: ScimTokenPage })
  @ApiProblems(listScimTokensProblems)
  async listTokens(
    @CurrentIdentity() { context }: Identity,
    @PublicId('providerId', 'identityProvider', listScimTokensProblems, 'IdentityProviderNotFound') providerId: string,
    @Query() query: ScimTokensQuery,
  ): Promise<ScimTokenPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('scimToken', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, async (tx) => {
      const provider = await this.queries.execute(new FindProviderQuery(providerId, tx));
      return provider ? ok(await listTokens(tx, providerId, page)) : fail({ _tag: 'IdentityProviderNotFound' as const });
    });
    return pageOf(respond(rows, listScimTokensProblems), query.limit, toScimTokenView, ({ id }) => toPublicId('scimToken', id));
  }

  @Delete(':scimTokenId')
  @HttpCode(204)
  @Permit('sso.manage')
  @ApiOperation({
    operationId: 'deleteScimToken',
    summary: 'Delete the token of a directory',
    description: 'Owners only. It counts no more from the next request on. Who was provisioned stays.',
  })
  @ApiParam({ name: 'providerId' })
  @ApiParam({ name: 'scimTokenId' })
  @ApiNoContentResponse()
  @ApiProblems(deleteScimTokenProblems)
  async deleteToken(
    @CurrentIdentity() identity: Identity,
    @PublicId('providerId', 'identityProvider', deleteScimTokenProblems, 'ScimTokenNotFound') providerId: string,
    @PublicId('scimTokenId', 'scimToken', deleteScimTokenProblems, 'ScimTokenNotFound') id: string,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteScimTokenCommand(identity, providerId, id)), deleteScimTokenProblems);
  }
}
