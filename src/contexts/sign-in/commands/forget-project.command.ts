import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AuditEvent } from '@domain/audit/entry.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { ForgetProjectCommand } from '../public/forget-project.command.js';

/** What the audit log calls who did it, as in the entry of the project's end. */
const purge = { kind: 'service', service: 'purge' } as const;

@CommandHandler(ForgetProjectCommand)
export class ForgetProjectHandler implements ICommandHandler<ForgetProjectCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ projectId, tx }: ForgetProjectCommand): Promise<null> {
    const [ended] = await tx.query<[{ id: string; member_id: string | null }[], number]>(
      `update credential set revoked_at = clock_timestamp(), projects = '{}'
       where organization_id = tenant_organization() and projects = array[$1::uuid] and revoked_at is null returning id, member_id`,
      [projectId],
    );
    await tx.query(`update credential set projects = array_remove(projects, $1::uuid) where organization_id = tenant_organization() and $1 = any (projects)`, [projectId]);
    const events = ended.map(({ id, member_id }): AuditEvent =>
      member_id === null ? { action: 'key.revoked', target: id, detail: {} } : { action: 'token.revoked', target: id, detail: { member: toPublicId('member', member_id) } },
    );
    await this.commands.execute(new RecordAuditCommand(tx, purge, ...events));
    return null;
  }
}
