import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { fail } from '@domain/result.js';
import { ProviderLogoutQuery } from '@contexts/identity-providers/public/provider-logout.query.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { csrfOf } from '@platform/identity/forgery.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { publicUrlOf } from '@platform/identity/public-url.js';
import { forgetSession, sessionOf } from '@platform/identity/session-cookie.js';
import { SessionView } from '@platform/identity/session-view.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { EndOwnSessionsCommand } from '../commands/end-own-sessions.command.js';
import { findEnd } from '../queries/sessions.js';
import { SignedOutView } from './sessions.dto.js';
import { sessionProblems, signOutProblems } from './sessions.problems.js';

@ApiTags('Sign-in')
@Controller('auth')
export class SessionController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly config: Config,
  ) {}

  @Get('session')
  @Permit('me.read')
  @ApiOperation({ operationId: 'readSession', summary: 'Read what a page needs to go on with its session' })
  @ApiOkResponse({ type: SessionView })
  @ApiProblems()
  async readSession(@CurrentIdentity() { context, memberId, tokenId }: Identity, @Req() request: FastifyRequest): Promise<SessionView> {
    const [session, end] = [sessionOf(request), await read(this.db, context, (tx) => findEnd(tx, tokenId))];
    return {
      member: toPublicId('member', memberId),
      organization: toPublicId('organization', context.organizationId),
      csrf: session && csrfOf(session),
      expiresAt: end?.getTime() ?? null,
    };
  }

  @Post('logout')
  @HttpCode(200)
  @Permit('sessions.manage')
  @ApiOperation({ operationId: 'signOut', summary: 'End the session of this request' })
  @ApiOkResponse({ type: SignedOutView })
  @ApiProblems(signOutProblems)
  async signOut(@CurrentIdentity() identity: Identity, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<SignedOutView> {
    if (identity.credential !== 'session') return respond(fail({ _tag: 'NotASession' }), signOutProblems);
    const url = publicUrlOf(this.config, request.socket.localPort);
    const providerLogout = url && (await this.queries.execute(new ProviderLogoutQuery(identity.context, identity.tokenId, `${url}/auth/signed-out`)));
    respond(await this.commands.execute(new EndOwnSessionsCommand(identity, identity.tokenId)), sessionProblems);
    forgetSession(reply);
    return { providerLogout };
  }
}
