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
import {
  ApiKeyPage,
  ApiKeysQuery,
  ApiKeyView,
  ApiKeyWithSecretView,
  CreateApiKeyBody,
  pageAsked,
  RotateBody,
  toApiKeyView,
  toApiKeyWithSecretView,
  toWanted,
} from './credentials.dto.js';
import { apiKeyProblems, createCredentialProblems, named, rotateApiKeyProblems } from './credentials.problems.js';

const keys = { kind: 'api_key' } as const;

@ApiTags('API keys')
@Controller('v1/api-keys')
export class ApiKeysController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('keys.read')
  @ApiOperation({ operationId: 'listApiKeys', summary: 'List the API keys that are not revoked, oldest first' })
  @ApiOkResponse({ type: ApiKeyPage })
  @ApiProblems()
  async listApiKeys(@CurrentIdentity() { context }: Identity, @Query() query: ApiKeysQuery): Promise<ApiKeyPage> {
    const rows = await read(this.db, context, (tx) => listCredentials(tx, keys, pageAsked('apiKey', query)));
    return pageOf(rows, query.limit, toApiKeyView, ({ id }) => toPublicId('apiKey', id));
  }

  @Post()
  @Permit('keys.manage')
  @ApiOperation({
    operationId: 'createApiKey',
    summary: 'Create an API key of the organization',
    description: 'It acts in the project of the path, else in the first that it names (or the earliest), and never may do more than you may. The key is in no later answer.',
  })
  @ApiCreatedResponse({ type: ApiKeyWithSecretView })
  @ApiProblems(createCredentialProblems)
  async createApiKey(@CurrentIdentity() identity: Identity, @Body() body: CreateApiKeyBody): Promise<ApiKeyWithSecretView> {
    return toApiKeyWithSecretView(respond(await this.commands.execute(new CreateCredentialCommand(identity, keys, toWanted(body))), createCredentialProblems));
  }

  @Get(':keyId')
  @Permit('keys.read')
  @ApiOperation({ operationId: 'readApiKey', summary: 'Read an API key' })
  @ApiParam({ name: 'keyId' })
  @ApiOkResponse({ type: ApiKeyView })
  @ApiProblems(apiKeyProblems)
  async readApiKey(@CurrentIdentity() { context }: Identity, @PublicId('keyId', 'apiKey', apiKeyProblems, 'ApiKeyNotFound') keyId: string): Promise<ApiKeyView> {
    const found = await read(this.db, context, (tx) => findShownCredential(tx, keys, keyId));
    return toApiKeyView(respond(found ? ok(found) : fail({ _tag: 'ApiKeyNotFound' as const }), apiKeyProblems));
  }

  @Post(':keyId/rotate')
  @HttpCode(200)
  @Permit('keys.manage')
  @ApiOperation({
    operationId: 'rotateApiKey',
    summary: 'Give an API key that you made a new secret',
    description: 'The one before counts until the overlap ends. Nothing else of the key changes.',
  })
  @ApiParam({ name: 'keyId' })
  @ApiBody({ type: RotateBody, required: false })
  @ApiOkResponse({ type: ApiKeyWithSecretView })
  @ApiProblems(rotateApiKeyProblems)
  async rotateApiKey(
    @CurrentIdentity() identity: Identity,
    @PublicId('keyId', 'apiKey', rotateApiKeyProblems, 'ApiKeyNotFound') keyId: string,
    @Body() { overlapMs }: RotateBody,
  ): Promise<ApiKeyWithSecretView> {
    const rotated = await this.commands.execute(new RotateCredentialCommand(identity, keys, keyId, overlapMs));
    return toApiKeyWithSecretView(respond(named(rotated, 'ApiKeyNotFound', identity.permissions.has('keys.read')), rotateApiKeyProblems));
  }

  @Delete(':keyId')
  @HttpCode(204)
  @Permit('keys.manage')
  @ApiOperation({ operationId: 'revokeApiKey', summary: 'Revoke an API key', description: 'It counts no more from the next request on, and its work stops.' })
  @ApiParam({ name: 'keyId' })
  @ApiNoContentResponse()
  @ApiProblems(apiKeyProblems)
  async revokeApiKey(@CurrentIdentity() identity: Identity, @PublicId('keyId', 'apiKey', apiKeyProblems, 'ApiKeyNotFound') keyId: string): Promise<void> {
    respond(named(await this.commands.execute(new RevokeCredentialCommand(identity, keys, keyId)), 'ApiKeyNotFound', true), apiKeyProblems);
  }
}
