import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import type { InvitationNotFound } from '@domain/organizations/invitation.js';
import { fail, ok } from '@domain/result.js';
import { FindOrganizationQuery } from '@contexts/organizations/public/find-organization.query.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { parseToken, type ParsedToken } from '@platform/identity/credential-text.js';
import { isClosed } from '@platform/identity/development-organization.js';
import { Permit } from '@platform/identity/identity.js';
import { requirePublicUrl } from '@platform/identity/public-url.js';
import { answerBegun, SessionView } from '@platform/identity/session-view.js';
import { visitorOf, type Visitor } from '@platform/identity/visitor.js';
import { AcceptInvitationCommand } from '../commands/accept-invitation.command.js';
import { InvitationAttempts } from '../invitation-attempts.js';
import { findCounting } from '../queries/find-counting.js';
import { AcceptBody, InvitedView, LookBody } from './invitations.dto.js';
import { acceptProblems, lookProblems } from './invitations.problems.js';

const missing: InvitationNotFound = { _tag: 'InvitationNotFound' };

@ApiTags('Sign-in')
@Controller('auth/invitations')
export class AcceptanceController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly config: Config,
    private readonly attempts: InvitationAttempts,
  ) {}

  @Post('look')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({
    operationId: 'lookAtInvitation',
    summary: 'Read what an invitation is to',
    description: 'It changes nothing: whoever has the link may look as often as they like.',
  })
  @ApiOkResponse({ type: InvitedView })
  @ApiProblems(lookProblems)
  async look(@Body() { token }: LookBody, @Req() request: FastifyRequest): Promise<InvitedView> {
    const text = await this.parse(token, request, visitorOf(request));
    const found = await read(this.db, { organizationId: text.organizationId, projectId: null }, async (tx) => {
      const [invitation, organization] = [await findCounting(tx, this.queries, text), await this.queries.execute(new FindOrganizationQuery(tx))];
      return invitation && organization && { ...invitation, organization: organization.name };
    });
    const { organization, email, role, password_sign_in } = respond(found ? ok(found) : fail(missing), lookProblems);
    return { organization, email, role, passwordSignIn: password_sign_in };
  }

  @Post('accept')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({
    operationId: 'acceptInvitation',
    summary: 'Become a member by an invitation, and sign in',
    description: 'With the address that was invited. The link counts no more afterwards. A session that the browser had before ends.',
  })
  @ApiOkResponse({ type: SessionView })
  @ApiProblems(acceptProblems)
  async accept(@Body() { token, name, password }: AcceptBody, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<SessionView> {
    const visitor = visitorOf(request);
    const text = await this.parse(token, request, visitor);
    return answerBegun(reply, respond(await this.commands.execute(new AcceptInvitationCommand(text, { name, password }, visitor)), acceptProblems));
  }

  /** Counts the attempt before anything is looked up. Throws what the routes declare. */
  private async parse(token: string, request: FastifyRequest, { address }: Visitor): Promise<ParsedToken> {
    requirePublicUrl(this.config, request);
    respond(await this.attempts.take(address), lookProblems);
    const text = parseToken(token);
    return respond(text?.start !== 'obi_' || isClosed(this.config, text.organizationId) ? fail(missing) : ok(text), lookProblems);
  }
}
