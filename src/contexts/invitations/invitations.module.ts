import { Module } from '@nestjs/common';
import { AcceptInvitationHandler } from './commands/accept-invitation.command.js';
import { InviteHandler } from './commands/invite.command.js';
import { RenewInvitationHandler } from './commands/renew-invitation.command.js';
import { RevokeInvitationHandler } from './commands/revoke-invitation.command.js';
import { AcceptanceController } from './http/acceptance.controller.js';
import { InvitationsController } from './http/invitations.controller.js';
import { InvitationAttempts } from './invitation-attempts.js';

@Module({
  controllers: [AcceptanceController, InvitationsController],
  providers: [AcceptInvitationHandler, InvitationAttempts, InviteHandler, RenewInvitationHandler, RevokeInvitationHandler],
})
export class InvitationsModule {}
