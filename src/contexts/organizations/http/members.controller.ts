import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { CreateMemberCommand } from '../commands/create-member.command.js';
import { listMembers } from '../queries/members.js';
import { CreatedMemberView, CreateMemberBody, MemberPage, MembersQuery, toCreatedMemberView, toMemberView } from './organizations.dto.js';
import { createMemberProblems } from './organizations.problems.js';

@ApiTags('Organization')
@Controller('v1/organization/members')
export class MembersController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('members.read')
  @ApiOperation({ operationId: 'listMembers', summary: 'List the members of your organization, oldest first' })
  @ApiOkResponse({ type: MemberPage })
  @ApiProblems()
  async listMembers(@CurrentIdentity() { context }: Identity, @Query() query: MembersQuery): Promise<MemberPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('member', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listMembers(tx, page));
    return pageOf(rows, query.limit, toMemberView, ({ id }) => toPublicId('member', id));
  }

  @Post()
  @Permit('members.create')
  @ApiOperation({ operationId: 'createMember', summary: 'Create a member and a first token', description: 'Owners only. The token is in no later answer.' })
  @ApiCreatedResponse({ type: CreatedMemberView })
  @ApiProblems(createMemberProblems)
  async createMember(@CurrentIdentity() identity: Identity, @Body() { name, email = null, role = 'member' }: CreateMemberBody): Promise<CreatedMemberView> {
    const result = await this.commands.execute(new CreateMemberCommand(identity, { name, email, role }));
    return toCreatedMemberView(respond(result, createMemberProblems));
  }
}
