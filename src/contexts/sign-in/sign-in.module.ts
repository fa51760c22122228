import { Global, Module } from '@nestjs/common';
import { Authenticator } from '@platform/identity/authenticator.js';
import { BeginSessionHandler } from './commands/begin-session.command.js';
import { ChangeSettingsHandler } from './commands/change-settings.command.js';
import { CreateCredentialHandler } from './commands/create-credential.command.js';
import { ForgetProjectHandler } from './commands/forget-project.command.js';
import { EndMemberSessionsHandler } from './commands/end-member-sessions.command.js';
import { EndOwnSessionsHandler } from './commands/end-own-sessions.command.js';
import { EndSessionsHandler } from './commands/end-sessions.command.js';
import { FoundOrganizationHandler } from './commands/found-organization.command.js';
import { IssueTokenHandler } from './commands/issue-token.command.js';
import { LeaveSessionHandler } from './commands/leave-session.command.js';
import { ProvisionDevelopmentHandler } from './commands/provision-development.command.js';
import { RevokeCredentialsHandler } from './commands/revoke-credentials.command.js';
import { RevokeCredentialHandler } from './commands/revoke-credential.command.js';
import { RotateCredentialHandler } from './commands/rotate-credential.command.js';
import { ApiKeysController } from './http/api-keys.controller.js';
import { MeController } from './http/me.controller.js';
import { ServiceAccountTokensController } from './http/service-account-tokens.controller.js';
import { SessionController } from './http/session.controller.js';
import { SessionsController } from './http/sessions.controller.js';
import { SettingsController } from './http/settings.controller.js';
import { TokensController } from './http/tokens.controller.js';
import { FindActiveProjectHandler, FindReachHandler } from './queries/find-active-project.handler.js';
import { CameFromHandler } from './queries/came-from.handler.js';
import { LoadIdentityHandler } from './queries/load-identity.handler.js';
import { MadeCredentialsHandler } from './queries/made-credentials.handler.js';
import { TokenAuthenticator } from './token-authenticator.js';

/** Global for the one thing that it gives the platform: the authenticator. */
@Global()
@Module({
  controllers: [ApiKeysController, MeController, ServiceAccountTokensController, SessionController, SessionsController, SettingsController, TokensController],
  providers: [
    BeginSessionHandler,
    CameFromHandler,
    ChangeSettingsHandler,
    CreateCredentialHandler,
    FindActiveProjectHandler,
    FindReachHandler,
    ForgetProjectHandler,
    EndMemberSessionsHandler,
    EndOwnSessionsHandler,
    EndSessionsHandler,
    FoundOrganizationHandler,
    IssueTokenHandler,
    LeaveSessionHandler,
    LoadIdentityHandler,
    MadeCredentialsHandler,
    ProvisionDevelopmentHandler,
    RevokeCredentialsHandler,
    RevokeCredentialHandler,
    RotateCredentialHandler,
    TokenAuthenticator,
    { provide: Authenticator, useExisting: TokenAuthenticator },
  ],
  exports: [Authenticator],
})
export class SignInModule {}
