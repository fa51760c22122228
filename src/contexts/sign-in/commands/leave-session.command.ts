import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import { parseToken, provesToken } from '@platform/identity/credential-text.js';
import { LeaveSessionCommand } from '../public/leave-session.command.js';

@CommandHandler(LeaveSessionCommand)
export class LeaveSessionHandler implements ICommandHandler<LeaveSessionCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ session }: LeaveSessionCommand): Promise<null> {
    const given = session === null ? null : parseToken(session);
    if (given?.start !== 'obs_') return null;
    await transact(this.db, { organizationId: given.organizationId, projectId: null }, async (tx) => {
      const rows = await tx.query<{ id: string; member_id: string; hash: Buffer }[]>(
        `select id, member_id, hash from credential where organization_id = tenant_organization() and prefix = $1 and revoked_at is null and expires_at > clock_timestamp()`,
        [given.prefix],
      );
      const proven = rows.find(({ hash }) => provesToken(hash, given.hash));
      if (!proven) return ok(null);
      const { id, member_id: memberId } = proven;
      await tx.query(`update credential set expires_at = clock_timestamp() where organization_id = tenant_organization() and id = $1`, [id]);
      const who = { kind: 'member', memberId, credential: { kind: 'session', id }, address: null } as const;
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'session.ended', target: id, detail: {} }));
      return ok(null);
    });
    return null;
  }
}
