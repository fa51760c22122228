import { Body, Controller, Delete, Get, HttpCode, Patch, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ChangeMemberCommand } from '../commands/change-member.command.js';
import { RemoveMemberCommand } from '../commands/remove-member.command.js';
import { findMember, listMembers } from '../queries/members.js';
import { ChangeMemberBody, ExpectedQuery, MemberPage, MembersQuery, MemberView, toMemberView } from './organizations.dto.js';
import { changeMemberProblems, readMemberProblems } from './organizations.problems.js';

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

  @Get(':memberId')
  @Permit('members.read')
  @ApiOperation({ operationId: 'readMember', summary: 'Read a member' })
  @ApiParam({ name: 'memberId' })
  @ApiOkResponse({ type: MemberView })
  @ApiProblems(readMemberProblems)
  async readMember(@CurrentIdentity() { context }: Identity, @PublicId('memberId', 'member', readMemberProblems, 'MemberNotFound') memberId: string): Promise<MemberView> {
    const found = await read(this.db, context, (tx) => findMember(tx, memberId));
    return toMemberView(respond(found ? ok(found) : fail({ _tag: 'MemberNotFound' as const }), readMemberProblems));
  }

  @Patch(':memberId')
  @Permit('members.manage')
  @ApiOperation({
    operationId: 'changeMember',
    summary: 'Change a member, suspend one, or let one in again',
    description: 'What the body leaves out stays. What the member may not do any more ends within seconds: requests, open streams, and work that goes on for them.',
  })
  @ApiParam({ name: 'memberId' })
  @ApiOkResponse({ type: MemberView })
  @ApiProblems(changeMemberProblems)
  async changeMember(
    @CurrentIdentity() identity: Identity,
    @PublicId('memberId', 'member', changeMemberProblems, 'MemberNotFound') memberId: string,
    @Body() body: ChangeMemberBody,
  ): Promise<MemberView> {
    return toMemberView(respond(await this.commands.execute(new ChangeMemberCommand(identity, memberId, body)), changeMemberProblems));
  }

  @Delete(':memberId')
  @HttpCode(204)
  @Permit('members.manage')
  @ApiOperation({
    operationId: 'removeMember',
    summary: 'Remove a member',
    description: 'Their tokens and roles are gone for good, and their work is stopped. What they made stays.',
  })
  @ApiParam({ name: 'memberId' })
  @ApiNoContentResponse()
  @ApiProblems(changeMemberProblems)
  async removeMember(
    @CurrentIdentity() identity: Identity,
    @PublicId('memberId', 'member', changeMemberProblems, 'MemberNotFound') memberId: string,
    @Query() { expected }: ExpectedQuery,
  ): Promise<void> {
    respond(await this.commands.execute(new RemoveMemberCommand(identity, memberId, expected)), changeMemberProblems);
  }
}
