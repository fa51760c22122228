import { Module } from '@nestjs/common';
import { AskAgainHandler } from './commands/ask-again.command.js';
import { BeginSignInHandler } from './commands/begin-sign-in.command.js';
import { ChangeProviderHandler } from './commands/change-provider.command.js';
import { ClaimDomainHandler } from './commands/claim-domain.command.js';
import { CreateProviderHandler } from './commands/create-provider.command.js';
import { DeleteProviderHandler } from './commands/delete-provider.command.js';
import { FinishSignInHandler } from './commands/finish-sign-in.command.js';
import { LogOutHandler } from './commands/log-out.command.js';
import { ReleaseDomainHandler } from './commands/release-domain.command.js';
import { VerifyDomainHandler, VouchForDomainHandler } from './commands/verify-domain.command.js';
import { DomainRecords } from './domain-records.js';
import { BackChannelController } from './http/back-channel.controller.js';
import { DomainsController } from './http/domains.controller.js';
import { PagesController } from './http/pages.controller.js';
import { ProvidersController } from './http/providers.controller.js';
import { SignInController } from './http/sign-in.controller.js';
import { OidcProtocol } from './protocols/oidc.js';
import { ProviderAsker } from './provider-asker.js';
import { FindProviderHandler, SignsInElsewhereHandler, SpeaksForHandler } from './queries/find-provider.handlers.js';
import { ProviderLogoutHandler } from './queries/provider-logout.handler.js';

@Module({
  controllers: [DomainsController, ProvidersController, PagesController, SignInController, BackChannelController],
  providers: [
    AskAgainHandler,
    BeginSignInHandler,
    ChangeProviderHandler,
    ClaimDomainHandler,
    CreateProviderHandler,
    DeleteProviderHandler,
    DomainRecords,
    FindProviderHandler,
    FinishSignInHandler,
    LogOutHandler,
    OidcProtocol,
    ProviderLogoutHandler,
    ReleaseDomainHandler,
    SignsInElsewhereHandler,
    SpeaksForHandler,
    VerifyDomainHandler,
    VouchForDomainHandler,
  ],
})
export class IdentityProvidersModule {}

/** Where work is done: providers are asked there whether the sessions that they vouched for still count. */
@Module({ providers: [ProviderAsker] })
export class IdentityProvidersWorkerModule {}
