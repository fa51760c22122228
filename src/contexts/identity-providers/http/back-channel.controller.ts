import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOperation, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import { IsString, MaxLength } from 'class-validator';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import { fail } from '@domain/result.js';
import { Config } from '@platform/config/config.js';
import { AcceptForm } from '@platform/http/form-body.js';
import { ApiProblems, respond, type ProblemTable } from '@platform/http/problem.js';
import { isClosed } from '@platform/identity/development-organization.js';
import { Permit } from '@platform/identity/identity.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { LogOutCommand, type LogoutRefused, type LogoutUnproven } from '../commands/log-out.command.js';

export class LogoutBody {
  @ApiProperty({ maxLength: 20_000, description: 'A logout token, signed by the provider.' })
  @IsString()
  @MaxLength(20_000)
  logout_token: string;
}

const problems = {
  IdentityProviderNotFound: { status: 404, message: 'There is no identity provider here.' },
  LogoutRefused: { status: 400, message: 'This is no logout token of this provider for us.' },
  LogoutUnproven: { status: 503, message: 'The keys of the provider cannot be read at the moment. Send it again.', example: { retryAfterMs: 5_000 } },
} satisfies ProblemTable<IdentityProviderNotFound | LogoutRefused | LogoutUnproven>;

@ApiTags('Sign-in')
@Controller('auth')
export class BackChannelController {
  constructor(
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Post('oidc/:organizationId/:providerId/back-channel-logout')
  @HttpCode(204)
  @Permit('public')
  @AcceptForm()
  @ApiOperation({
    operationId: 'logOutByProvider',
    summary: 'Where an OpenID Connect provider says that sessions are over',
    description: 'What was begun in them stops, as with a session that is revoked.',
  })
  @ApiParam({ name: 'organizationId' })
  @ApiParam({ name: 'providerId' })
  @ApiNoContentResponse({ description: 'They are over, or were before.' })
  @ApiProblems(problems)
  async logOut(@Param('organizationId') organization: string, @Param('providerId') provider: string, @Body() { logout_token }: LogoutBody): Promise<void> {
    const [organizationId, providerId] = [fromPublicId('organization', organization), fromPublicId('identityProvider', provider)];
    if (organizationId === null || providerId === null || isClosed(this.config, organizationId)) return respond(fail({ _tag: 'IdentityProviderNotFound' }), problems);
    respond(await this.commands.execute(new LogOutCommand(organizationId, providerId, logout_token)), problems);
  }
}
