import { Global, Module } from '@nestjs/common';
import { Authenticator } from '@platform/identity/authenticator.js';
import { ChangeSettingsHandler } from './commands/change-settings.command.js';
import { FoundOrganizationHandler } from './commands/found-organization.command.js';
import { IssueTokenHandler } from './commands/issue-token.command.js';
import { ProvisionDevelopmentHandler } from './commands/provision-development.command.js';
import { RevokeCredentialsHandler } from './commands/revoke-credentials.command.js';
import { RevokeTokenHandler } from './commands/revoke-token.command.js';
import { MeController } from './http/me.controller.js';
import { SettingsController } from './http/settings.controller.js';
import { TokensController } from './http/tokens.controller.js';
import { LoadIdentityHandler } from './queries/load-identity.handler.js';
import { TokenAuthenticator } from './token-authenticator.js';

/** Global for the one thing that it gives the platform: the authenticator. */
@Global()
@Module({
  controllers: [MeController, SettingsController, TokensController],
  providers: [
    ChangeSettingsHandler,
    FoundOrganizationHandler,
    IssueTokenHandler,
    LoadIdentityHandler,
    ProvisionDevelopmentHandler,
    RevokeCredentialsHandler,
    RevokeTokenHandler,
    TokenAuthenticator,
    { provide: Authenticator, useExisting: TokenAuthenticator },
  ],
  exports: [Authenticator],
})
export class SignInModule {}
