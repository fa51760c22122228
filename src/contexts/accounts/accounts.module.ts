import { Module } from '@nestjs/common';
import { AllowPasswordHandler } from './commands/allow-password.command.js';
import { ChangePasswordHandler } from './commands/change-password.command.js';
import { CloseAccountHandler } from './commands/close-account.command.js';
import { GivePasswordHandler } from './commands/give-password.command.js';
import { IssueOwnerLinkHandler } from './commands/issue-owner-link.command.js';
import { PreparePasswordHandler } from './commands/prepare-password.command.js';
import { SetUpAccountHandler } from './commands/set-up-account.command.js';
import { SignInHandler } from './commands/sign-in.command.js';
import { AuthController } from './http/auth.controller.js';
import { LinkPageController } from './http/link-page.controller.js';
import { PasswordController } from './http/password.controller.js';
import { PasswordHasher } from './password-hasher.js';
import { SignInAttempts } from './sign-in-attempts.js';

@Module({
  controllers: [AuthController, LinkPageController, PasswordController],
  providers: [
    AllowPasswordHandler,
    ChangePasswordHandler,
    CloseAccountHandler,
    GivePasswordHandler,
    IssueOwnerLinkHandler,
    PasswordHasher,
    PreparePasswordHandler,
    SetUpAccountHandler,
    SignInAttempts,
    SignInHandler,
  ],
})
export class AccountsModule {}
