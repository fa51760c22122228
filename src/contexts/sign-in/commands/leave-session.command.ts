import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { parseToken, provesToken } from '@platform/identity/credential-text.js';
import { LeaveSessionCommand } from '../public/leave-session.command.js';

@CommandHandler(LeaveSessionCommand)
export class LeaveSessionHandler implements ICommandHandler<LeaveSessionCommand> {
  constructor(private readonly db: DataSource) {}

  async execute({ session }: LeaveSessionCommand): Promise<null> {
    const given = session === null ? null : parseToken(session);
    if (given?.start !== 'obs_') return null;
    await transact(this.db, { organizationId: given.organizationId, projectId: null }, async (tx) => {
      const rows = await tx.query<{ id: string; hash: Buffer }[]>(`select id, hash from credential where organization_id = tenant_organization() and prefix = $1`, [given.prefix]);
      const proven = rows.find(({ hash }) => provesToken(hash, given.hash));
      if (proven)
        await tx.query(`update credential set revoked_at = clock_timestamp() where organization_id = tenant_organization() and id = $1 and revoked_at is null`, [proven.id]);
      return ok(null);
    });
    return null;
  }
}
