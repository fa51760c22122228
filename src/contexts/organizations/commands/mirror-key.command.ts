import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { toPublicId } from '@platform/ids/typeid.js';
import { ok } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import { MirrorKeyCommand } from '../public/mirror-key.command.js';

@CommandHandler(MirrorKeyCommand)
export class MirrorKeyHandler implements ICommandHandler<MirrorKeyCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  /** The project is held while the mirror is made: one that is deleted at the same time gets none. Of two at once the second waits, and finds that it is there. */
  async execute({ context, key }: MirrorKeyCommand): Promise<void> {
    await transact(this.db, context, async (tx) => {
      const [project] = await tx.query<unknown[]>(`select 1 from project where organization_id = tenant_organization() and id = $1 and deleting_at is null for key share`, [
        context.projectId,
      ]);
      if (!project) return ok(null);
      const [mirror] = await tx.query<{ id: string }[]>(
        `insert into member (organization_id, id, kind, name, key_id, key_project_id) values (tenant_organization(), $1, 'api_key', $2, $3, $4)
         on conflict (organization_id, key_id, key_project_id) where key_id is not null do nothing returning id`,
        [uuidv7(), key.name, key.id, context.projectId],
      );
      if (!mirror) return ok(null);
      const who = { kind: 'member', memberId: mirror.id, credential: { kind: 'api_key', id: key.id }, address: null } as const;
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'key.mirrored', target: key.id, detail: { member: toPublicId('member', mirror.id) } }));
      return ok(null);
    });
  }
}
