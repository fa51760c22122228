import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { fail } from '@domain/result.js';
import { Config } from '@platform/config/config.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { parseToken } from '@platform/identity/credential-text.js';
import { developmentOrganizationId, isClosed } from '@platform/identity/development-organization.js';
import { Permit } from '@platform/identity/identity.js';
import { requirePublicUrl } from '@platform/identity/public-url.js';
import { answerBegun, SessionView } from '@platform/identity/session-view.js';
import { visitorOf } from '@platform/identity/visitor.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { SetUpAccountCommand } from '../commands/set-up-account.command.js';
import { SignInCommand } from '../commands/sign-in.command.js';
import { findSoleOrganization } from '../queries/account.js';
import { SetUpBody, SignInBody } from './accounts.dto.js';
import { setUpProblems, signInProblems } from './accounts.problems.js';

@ApiTags('Sign-in')
@Controller('auth')
export class AuthController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Post('login')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({
    operationId: 'signIn',
    summary: 'Sign in with a password',
    description: 'For those whom an owner has allowed a password. The session is a cookie that only this server sees; one that the browser had before ends.',
  })
  @ApiOkResponse({ type: SessionView })
  @ApiProblems(signInProblems)
  async signIn(@Body() { organization, ...given }: SignInBody, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<SessionView> {
    requirePublicUrl(this.config, request);
    const organizationId =
      organization === undefined
        ? await findSoleOrganization(this.db.manager, this.config.production ? developmentOrganizationId : null)
        : fromPublicId('organization', organization);
    if (organizationId === null) return respond(fail({ _tag: 'OrganizationMissing', field: 'organization' }), signInProblems);
    if (isClosed(this.config, organizationId)) return respond(fail({ _tag: 'SignInRefused' }), signInProblems);
    return answerBegun(reply, respond(await this.commands.execute(new SignInCommand(organizationId, given, visitorOf(request))), signInProblems));
  }

  @Post('setup')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({
    operationId: 'setUpAccount',
    summary: 'Set a password by a one-time link, and sign in',
    description: 'The link counts no more afterwards, and all other sessions end.',
  })
  @ApiOkResponse({ type: SessionView })
  @ApiProblems(setUpProblems)
  async setUp(@Body() { token, password, name }: SetUpBody, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<SessionView> {
    requirePublicUrl(this.config, request);
    const link = parseToken(token);
    if (link?.start !== 'obl_' || isClosed(this.config, link.organizationId)) return respond(fail({ _tag: 'LinkNotFound' }), setUpProblems);
    return answerBegun(reply, respond(await this.commands.execute(new SetUpAccountCommand(link, { password, name }, visitorOf(request))), setUpProblems));
  }
}
