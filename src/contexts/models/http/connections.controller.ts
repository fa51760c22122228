import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ChangeConnectionCommand } from '../commands/change-connection.command.js';
import { CreateConnectionCommand } from '../commands/create-connection.command.js';
import { DeleteConnectionCommand } from '../commands/delete-connection.command.js';
import { findConnection, listConnections } from '../queries/connections.js';
import { ChangeConnectionBody, ConnectionPage, ConnectionsQuery, ConnectionView, CreateConnectionBody, toConnectionModel, toConnectionView } from './connections.dto.js';
import { changeConnectionProblems, createConnectionProblems, deleteConnectionProblems, readConnectionProblems } from './connections.problems.js';

@ApiTags('Models')
@Controller('v1/model-connections')
export class ConnectionsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Post()
  @Permit('models.manage')
  @ApiOperation({ operationId: 'createModelConnection', summary: 'Connect a model provider', description: 'Owners only. The key is sealed at once and is in no answer.' })
  @ApiCreatedResponse({ type: ConnectionView })
  @ApiProblems(createConnectionProblems)
  async createConnection(@CurrentIdentity() identity: Identity, @Body() body: CreateConnectionBody): Promise<ConnectionView> {
    const { kind, name, baseUrl = null, api = null, apiKey = null, models } = body;
    const result = await this.commands.execute(new CreateConnectionCommand(identity, { kind, name, baseUrl, api, apiKey, models: models.map(toConnectionModel) }));
    return toConnectionView(respond(result, createConnectionProblems));
  }

  @Get()
  @Permit('models.read')
  @ApiOperation({ operationId: 'listModelConnections', summary: 'List the model connections of your organization, oldest first' })
  @ApiOkResponse({ type: ConnectionPage })
  @ApiProblems()
  async listConnections(@CurrentIdentity() { context }: Identity, @Query() query: ConnectionsQuery): Promise<ConnectionPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('connection', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listConnections(tx, context.organizationId, page));
    return pageOf(rows, query.limit, toConnectionView, ({ id }) => toPublicId('connection', id));
  }

  @Get(':connectionId')
  @Permit('models.read')
  @ApiOperation({ operationId: 'getModelConnection', summary: 'Read a model connection' })
  @ApiParam({ name: 'connectionId', type: String })
  @ApiOkResponse({ type: ConnectionView })
  @ApiProblems(readConnectionProblems)
  async readConnection(
    @CurrentIdentity() { context }: Identity,
    @PublicId('connectionId', 'connection', readConnectionProblems, 'ModelConnectionNotFound') id: string,
  ): Promise<ConnectionView> {
    const row = await read(this.db, context, (tx) => findConnection(tx, context.organizationId, id));
    return toConnectionView(respond(row ? ok(row) : fail({ _tag: 'ModelConnectionNotFound' as const }), readConnectionProblems));
  }

  @Patch(':connectionId')
  @Permit('models.manage')
  @ApiOperation({ operationId: 'changeModelConnection', summary: 'Change a model connection', description: 'Owners only. What is left out stays as it is.' })
  @ApiParam({ name: 'connectionId', type: String })
  @ApiOkResponse({ type: ConnectionView })
  @ApiProblems(changeConnectionProblems)
  async changeConnection(
    @CurrentIdentity() identity: Identity,
    @PublicId('connectionId', 'connection', changeConnectionProblems, 'ModelConnectionNotFound') id: string,
    @Body() { expected, models, ...change }: ChangeConnectionBody,
  ): Promise<ConnectionView> {
    const wanted = { ...change, models: models?.map(toConnectionModel) };
    return toConnectionView(respond(await this.commands.execute(new ChangeConnectionCommand(identity, id, expected, wanted)), changeConnectionProblems));
  }

  @Delete(':connectionId')
  @HttpCode(204)
  @Permit('models.manage')
  @ApiOperation({ operationId: 'deleteModelConnection', summary: 'Delete a model connection and its key', description: 'Owners only. Bots that use its models need another one.' })
  @ApiParam({ name: 'connectionId', type: String })
  @ApiNoContentResponse()
  @ApiProblems(deleteConnectionProblems)
  async deleteConnection(
    @CurrentIdentity() identity: Identity,
    @PublicId('connectionId', 'connection', deleteConnectionProblems, 'ModelConnectionNotFound') id: string,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteConnectionCommand(identity, id)), deleteConnectionProblems);
  }
}
