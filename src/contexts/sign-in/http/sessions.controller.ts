import { Controller, Delete, Get, HttpCode, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { EndMemberSessionsCommand } from '../commands/end-member-sessions.command.js';
import { EndOwnSessionsCommand } from '../commands/end-own-sessions.command.js';
import { listSessions } from '../queries/sessions.js';
import { OwnSessionPage, SessionsQuery, toOwnSessionView } from './sessions.dto.js';
import { endMemberSessionsProblems, sessionProblems } from './sessions.problems.js';

@ApiTags('Sign-in')
@Controller('v1')
export class SessionsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get('me/sessions')
  @Permit('sessions.manage')
  @ApiOperation({ operationId: 'listSessions', summary: 'List your sessions that are not over, oldest first' })
  @ApiOkResponse({ type: OwnSessionPage })
  @ApiProblems()
  async listSessions(@CurrentIdentity() { context, memberId, tokenId }: Identity, @Query() { after, limit }: SessionsQuery): Promise<OwnSessionPage> {
    const page = { after: after === undefined ? null : fromPublicId('session', after), limit: limit + 1 };
    const rows = await read(this.db, context, (tx) => listSessions(tx, memberId, page));
    return pageOf(rows, limit, toOwnSessionView(tokenId), ({ id }) => toPublicId('session', id));
  }

  @Delete('me/sessions')
  @HttpCode(204)
  @Permit('sessions.manage')
  @ApiOperation({ operationId: 'endOtherSessions', summary: 'End all your sessions but the one of this request' })
  @ApiNoContentResponse()
  @ApiProblems()
  async endOtherSessions(@CurrentIdentity() identity: Identity): Promise<void> {
    respond(await this.commands.execute(new EndOwnSessionsCommand(identity, 'others')), sessionProblems);
  }

  @Delete('me/sessions/:sessionId')
  @HttpCode(204)
  @Permit('sessions.manage')
  @ApiOperation({ operationId: 'endSession', summary: 'End one of your sessions', description: 'Its requests are out at once, its open streams within five seconds.' })
  @ApiParam({ name: 'sessionId' })
  @ApiNoContentResponse()
  @ApiProblems(sessionProblems)
  async endSession(@CurrentIdentity() identity: Identity, @PublicId('sessionId', 'session', sessionProblems, 'SessionNotFound') sessionId: string): Promise<void> {
    respond(await this.commands.execute(new EndOwnSessionsCommand(identity, sessionId)), sessionProblems);
  }

  @Delete('organization/members/:memberId/sessions')
  @HttpCode(204)
  @Permit('members.manage')
  @ApiOperation({ operationId: 'endMemberSessions', summary: 'End all sessions of a member', description: 'Tokens go on: to stop a member altogether, suspend them.' })
  @ApiParam({ name: 'memberId' })
  @ApiNoContentResponse()
  @ApiProblems(endMemberSessionsProblems)
  async endMemberSessions(@CurrentIdentity() identity: Identity, @PublicId('memberId', 'member', endMemberSessionsProblems, 'MemberNotFound') memberId: string): Promise<void> {
    respond(await this.commands.execute(new EndMemberSessionsCommand(identity, memberId)), endMemberSessionsProblems);
  }
}
