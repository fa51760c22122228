import { Body, Controller, HttpCode, Put, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Config } from '@platform/config/config.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { linkOf, requirePublicUrl } from '@platform/identity/public-url.js';
import { visitorOf } from '@platform/identity/visitor.js';
import { AllowPasswordCommand } from '../commands/allow-password.command.js';
import { ChangePasswordCommand } from '../commands/change-password.command.js';
import { AllowedPasswordView, AllowPasswordBody, ChangePasswordBody } from './accounts.dto.js';
import { allowPasswordProblems, changePasswordProblems } from './accounts.problems.js';

@ApiTags('Sign-in')
@Controller('v1')
export class PasswordController {
  constructor(
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Put('me/password')
  @HttpCode(204)
  @Permit('me.change')
  @ApiOperation({ operationId: 'changePassword', summary: 'Change your password', description: 'All your sessions but the one of this request end.' })
  @ApiNoContentResponse()
  @ApiProblems(changePasswordProblems)
  async changePassword(@CurrentIdentity() identity: Identity, @Body() body: ChangePasswordBody, @Req() request: FastifyRequest): Promise<void> {
    respond(await this.commands.execute(new ChangePasswordCommand(identity, body, visitorOf(request))), changePasswordProblems);
  }

  @Put('organization/members/:memberId/password-sign-in')
  @Permit('members.manage')
  @ApiOperation({
    operationId: 'allowPassword',
    summary: 'Say whether a member may sign in with a password',
    description: 'It is the way in when every other one is broken. Owners alone say it. Who may and has no password gets a link to set one.',
  })
  @ApiParam({ name: 'memberId' })
  @ApiOkResponse({ type: AllowedPasswordView })
  @ApiProblems(allowPasswordProblems)
  async allowPassword(
    @CurrentIdentity() identity: Identity,
    @PublicId('memberId', 'member', allowPasswordProblems, 'MemberNotFound') memberId: string,
    @Body() body: AllowPasswordBody,
    @Req() request: FastifyRequest,
  ): Promise<AllowedPasswordView> {
    const url = requirePublicUrl(this.config, request);
    const { allowed, link } = respond(await this.commands.execute(new AllowPasswordCommand(identity, memberId, body.allowed)), allowPasswordProblems);
    return { allowed, link: link && linkOf(url, 'setup', link) };
  }
}
