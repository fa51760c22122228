import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { InvitationNotFound } from '@domain/organizations/invitation.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';

/** Takes an invitation back that nobody has accepted. Whoever may invite may take back what somebody else gave. */
export class RevokeInvitationCommand extends Command<Result<null, InvitationNotFound>> {
  constructor(
    readonly identity: Identity,
    readonly invitationId: string,
  ) {
    super();
  }
}

@CommandHandler(RevokeInvitationCommand)
export class RevokeInvitationHandler implements ICommandHandler<RevokeInvitationCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, invitationId }: RevokeInvitationCommand): Promise<Result<null, InvitationNotFound>> {
    return transact<Result<null, InvitationNotFound>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'members.create'));
      const [, revoked] = await tx.query<[unknown[], number]>(
        `update invitation set revoked_at = clock_timestamp() where organization_id = tenant_organization() and id = $1 and accepted_at is null and revoked_at is null`,
        [invitationId],
      );
      if (revoked === 0) return fail({ _tag: 'InvitationNotFound' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'invitation.revoked', target: invitationId, detail: {} }));
      return ok(null);
    });
  }
}
