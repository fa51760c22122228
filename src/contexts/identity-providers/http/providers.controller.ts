import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { publicUrlProblems, requirePublicUrl } from '@platform/identity/public-url.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ChangeProviderCommand } from '../commands/change-provider.command.js';
import { CreateProviderCommand } from '../commands/create-provider.command.js';
import { DeleteProviderCommand } from '../commands/delete-provider.command.js';
import { findProvider, listProviders } from '../queries/providers.js';
import { changeProviderProblems, createProviderProblems, deleteProviderProblems, readProviderProblems } from './identity-providers.problems.js';
import {
  ChangeIdentityProviderBody,
  CreateIdentityProviderBody,
  IdentityProviderPage,
  IdentityProvidersQuery,
  IdentityProviderView,
  toProviderSettings,
  toProviderView,
} from './providers.dto.js';

@ApiTags('Identity providers')
@Controller('v1/organization/identity-providers')
export class ProvidersController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Post()
  @Permit('sso.manage')
  @ApiOperation({
    operationId: 'createIdentityProvider',
    summary: 'Connect an OpenID Connect provider',
    description: 'Owners only. It lets nobody in before a domain of yours is verified for it. The secret is sealed at once and is in no answer.',
  })
  @ApiCreatedResponse({ type: IdentityProviderView })
  @ApiProblems(createProviderProblems)
  async createProvider(@CurrentIdentity() identity: Identity, @Body() body: CreateIdentityProviderBody, @Req() request: FastifyRequest): Promise<IdentityProviderView> {
    const url = requirePublicUrl(this.config, request);
    const made = respond(await this.commands.execute(new CreateProviderCommand(identity, toProviderSettings(body), body.clientSecret ?? null)), createProviderProblems);
    return toProviderView(made, identity.context.organizationId, url);
  }

  @Get()
  @Permit('sso.read')
  @ApiOperation({ operationId: 'listIdentityProviders', summary: 'List the identity providers of your organization, oldest first' })
  @ApiOkResponse({ type: IdentityProviderPage })
  @ApiProblems(publicUrlProblems)
  async listProviders(@CurrentIdentity() { context }: Identity, @Query() query: IdentityProvidersQuery, @Req() request: FastifyRequest): Promise<IdentityProviderPage> {
    const url = requirePublicUrl(this.config, request);
    const page = { after: query.after === undefined ? null : fromPublicId('identityProvider', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listProviders(tx, page));
    const toView = (row: (typeof rows)[number]): IdentityProviderView => toProviderView(row, context.organizationId, url);
    return pageOf(rows, query.limit, toView, ({ id }) => toPublicId('identityProvider', id));
  }

  @Get(':providerId')
  @Permit('sso.read')
  @ApiOperation({ operationId: 'readIdentityProvider', summary: 'Read an identity provider' })
  @ApiParam({ name: 'providerId' })
  @ApiOkResponse({ type: IdentityProviderView })
  @ApiProblems(readProviderProblems)
  async readProvider(
    @CurrentIdentity() { context }: Identity,
    @PublicId('providerId', 'identityProvider', readProviderProblems, 'IdentityProviderNotFound') id: string,
    @Req() request: FastifyRequest,
  ): Promise<IdentityProviderView> {
    const row = await read(this.db, context, (tx) => findProvider(tx, id));
    const found = respond(row ? ok(row) : fail({ _tag: 'IdentityProviderNotFound' as const }), readProviderProblems);
    return toProviderView(found, context.organizationId, requirePublicUrl(this.config, request));
  }

  @Patch(':providerId')
  @Permit('sso.manage')
  @ApiOperation({ operationId: 'changeIdentityProvider', summary: 'Change an identity provider', description: 'Owners only. What is left out stays as it is.' })
  @ApiParam({ name: 'providerId' })
  @ApiOkResponse({ type: IdentityProviderView })
  @ApiProblems(changeProviderProblems)
  async changeProvider(
    @CurrentIdentity() identity: Identity,
    @PublicId('providerId', 'identityProvider', changeProviderProblems, 'IdentityProviderNotFound') id: string,
    @Body() { expected, clientSecret, ...change }: ChangeIdentityProviderBody,
    @Req() request: FastifyRequest,
  ): Promise<IdentityProviderView> {
    const url = requirePublicUrl(this.config, request);
    const changed = await this.commands.execute(new ChangeProviderCommand(identity, id, expected, { ...change, secret: clientSecret }));
    return toProviderView(respond(changed, changeProviderProblems), identity.context.organizationId, url);
  }

  @Delete(':providerId')
  @HttpCode(204)
  @Permit('sso.manage')
  @ApiOperation({
    operationId: 'deleteIdentityProvider',
    summary: 'Disconnect an identity provider',
    description: 'Owners only. Its secret and its domains go. Members stay; whoever signed in by it alone needs another way.',
  })
  @ApiParam({ name: 'providerId' })
  @ApiNoContentResponse()
  @ApiProblems(deleteProviderProblems)
  async deleteProvider(
    @CurrentIdentity() identity: Identity,
    @PublicId('providerId', 'identityProvider', deleteProviderProblems, 'IdentityProviderNotFound') id: string,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteProviderCommand(identity, id)), deleteProviderProblems);
  }
}
