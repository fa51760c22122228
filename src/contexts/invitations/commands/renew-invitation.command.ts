import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { InvitationNotFound } from '@domain/organizations/invitation.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import type { Identity } from '@platform/identity/identity.js';
import { judgeInvitation } from '../judge-invitation.js';
import { findInvitation, lockInvitation } from '../queries/invitations.js';
import type { MadeInvitation } from './invite.command.js';

export type RenewInvitationFailure = InvitationNotFound | Forbidden;

/** Makes the link of an invitation anew: the one before counts no more. Whoever renews it is who invites from now on. */
export class RenewInvitationCommand extends Command<Result<MadeInvitation, RenewInvitationFailure>> {
  constructor(
    readonly identity: Identity,
    readonly invitationId: string,
    readonly expiresInMs: number,
  ) {
    super();
  }
}

@CommandHandler(RenewInvitationCommand)
export class RenewInvitationHandler implements ICommandHandler<RenewInvitationCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, invitationId, expiresInMs }: RenewInvitationCommand): Promise<Result<MadeInvitation, RenewInvitationFailure>> {
    return transact<Result<MadeInvitation, RenewInvitationFailure>>(this.db, identity.context, async (tx) => {
      const asker = await this.commands.execute(new LockRightsCommand(tx, identity, 'members.create'));
      const before = await lockInvitation(tx, invitationId);
      if (!before) return fail({ _tag: 'InvitationNotFound' });
      const judged = await judgeInvitation(tx, this.queries, asker, { ...before, passwordSignIn: before.password_sign_in });
      if (!judged.ok) return judged;
      const { token: text, prefix, hash } = newToken(identity.context.organizationId, 'obi_');
      await tx.query(
        `update invitation set prefix = $2, hash = $3, invited_by = $4, expires_at = clock_timestamp() + $5 * interval '1 millisecond' where organization_id = tenant_organization() and id = $1`,
        [invitationId, prefix, hash, identity.memberId, expiresInMs],
      );
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'invitation.renewed', target: invitationId, detail: { expiresInMs } }));
      const invitation = await findInvitation(tx, invitationId);
      return ok({ invitation: invitation!, text });
    });
  }
}
