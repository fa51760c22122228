import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { CreateServiceAccountCommand } from '../commands/create-service-account.command.js';
import { findServiceAccount, listServiceAccounts } from '../queries/service-accounts.js';
import { MembersQuery } from './organizations.dto.js';
import { createServiceAccountProblems, readServiceAccountProblems } from './organizations.problems.js';
import { CreateServiceAccountBody, ServiceAccountPage, ServiceAccountView, toServiceAccountView } from './service-accounts.dto.js';

@ApiTags('Service accounts')
@Controller('v1/organization/service-accounts')
export class ServiceAccountsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('members.read')
  @ApiOperation({ operationId: 'listServiceAccounts', summary: 'List the service accounts, oldest first' })
  @ApiOkResponse({ type: ServiceAccountPage })
  @ApiProblems()
  async listServiceAccounts(@CurrentIdentity() { context }: Identity, @Query() query: MembersQuery): Promise<ServiceAccountPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('member', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listServiceAccounts(tx, page));
    return pageOf(rows, query.limit, toServiceAccountView, ({ id }) => toPublicId('member', id));
  }

  @Post()
  @Permit('members.create')
  @ApiOperation({ operationId: 'createServiceAccount', summary: 'Create a service account', description: 'A program acts by it, with tokens that you create for it.' })
  @ApiCreatedResponse({ type: ServiceAccountView })
  @ApiProblems(createServiceAccountProblems)
  async createServiceAccount(@CurrentIdentity() identity: Identity, @Body() { name, role = 'member' }: CreateServiceAccountBody): Promise<ServiceAccountView> {
    return toServiceAccountView(respond(await this.commands.execute(new CreateServiceAccountCommand(identity, { name, role })), createServiceAccountProblems));
  }

  @Get(':serviceAccountId')
  @Permit('members.read')
  @ApiOperation({ operationId: 'readServiceAccount', summary: 'Read a service account' })
  @ApiParam({ name: 'serviceAccountId' })
  @ApiOkResponse({ type: ServiceAccountView })
  @ApiProblems(readServiceAccountProblems)
  async readServiceAccount(
    @CurrentIdentity() { context }: Identity,
    @PublicId('serviceAccountId', 'member', readServiceAccountProblems, 'ServiceAccountNotFound') id: string,
  ): Promise<ServiceAccountView> {
    const found = await read(this.db, context, (tx) => findServiceAccount(tx, id));
    return toServiceAccountView(respond(found ? ok(found) : fail({ _tag: 'ServiceAccountNotFound' as const }), readServiceAccountProblems));
  }
}
