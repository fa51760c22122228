import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '@domain/audit/entry.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { SessionNotFound } from '@domain/sign-in/session.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { StopWorkCommand } from '@contexts/organizations/public/stop-work.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';

/** Ends one of one's own sessions, or all but the one that asks. What was begun in that one goes on: who leaves takes nothing back. */
export class EndOwnSessionsCommand extends Command<Result<null, SessionNotFound>> {
  constructor(
    readonly identity: Identity,
    readonly which: string | 'others',
  ) {
    super();
  }
}

@CommandHandler(EndOwnSessionsCommand)
export class EndOwnSessionsHandler implements ICommandHandler<EndOwnSessionsCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, which }: EndOwnSessionsCommand): Promise<Result<null, SessionNotFound>> {
    const { context, memberId, tokenId } = identity;
    return transact<Result<null, SessionNotFound>>(this.db, context, async (tx) => {
      const [ended] = await tx.query<[{ id: string }[], number]>(
        `update credential set revoked_at = case when id <> $3 then clock_timestamp() end, expires_at = case when id = $3 then clock_timestamp() else expires_at end
         where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and revoked_at is null and expires_at > clock_timestamp()
           and case when $2::uuid is null then id <> $3 else id = $2 end returning id`,
        [memberId, which === 'others' ? null : which, tokenId],
      );
      const events = ended.map(({ id }): AuditEvent =>
        id === tokenId
          ? { action: 'session.ended', target: id, detail: {} }
          : { action: 'session.revoked', target: id, detail: { member: toPublicId('member', memberId), reason: 'owner' } },
      );
      await this.commands.execute(new RecordAuditCommand(tx, identity, ...events));
      const revoked = ended.filter(({ id }) => id !== tokenId).map(({ id }) => ({ id, memberId }));
      if (revoked.length > 0) await this.commands.execute(new StopWorkCommand(revoked, tx));
      return ended.length === 0 && which !== 'others' ? fail({ _tag: 'SessionNotFound' }) : ok(null);
    });
  }
}
