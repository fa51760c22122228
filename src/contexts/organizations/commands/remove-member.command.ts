import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok, type Result } from '@domain/result.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { CloseAccountCommand } from '@contexts/accounts/public/close-account.command.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { RevokeCredentialsCommand } from '@contexts/sign-in/public/revoke-credentials.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { deleteProjectRoles } from '../queries/project-roles.js';
import { lockMembership, type ChangeMemberFailure } from './change-member.command.js';
import { stopLostWork } from './stop-work.command.js';

/** The row stays, because what the member made and did names it; nothing that the member held counts any more, and no way leads back. */
export class RemoveMemberCommand extends Command<Result<null, ChangeMemberFailure>> {
  constructor(
    readonly identity: Identity,
    readonly memberId: string,
    readonly expected: number,
  ) {
    super();
  }
}

@CommandHandler(RemoveMemberCommand)
export class RemoveMemberHandler implements ICommandHandler<RemoveMemberCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, memberId, expected }: RemoveMemberCommand): Promise<Result<null, ChangeMemberFailure>> {
    const removed = await transact<Result<readonly string[], ChangeMemberFailure>>(this.db, identity.context, async (tx) => {
      const locked = await lockMembership(tx, this.commands, identity, memberId, { expected, removed: true });
      if (!locked.ok) return locked;
      await tx.query(`update member set removed_at = clock_timestamp(), revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [memberId]);
      await deleteProjectRoles(tx, memberId);
      await this.commands.execute(new RevokeCredentialsCommand(memberId, identity, tx));
      await this.commands.execute(new CloseAccountCommand(memberId, tx));
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'member.removed', target: memberId, detail: { role: locked.value.role } }));
      return ok(await stopLostWork(tx, this.queries, memberId, true));
    });
    if (!removed.ok) return removed;
    this.wake.publish(removed.value);
    return ok(null);
  }
}
