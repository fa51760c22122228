import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import type { EndedCredential } from '@contexts/organizations/public/stop-work.command.js';
import { ForgetProjectCommand } from '../public/forget-project.command.js';
import { revokedEvent } from './credential-events.js';

/** What the audit log calls who did it, as in the entry of the project's end. */
const purge = { kind: 'service', service: 'purge' } as const;

@CommandHandler(ForgetProjectCommand)
export class ForgetProjectHandler implements ICommandHandler<ForgetProjectCommand> {
  constructor(private readonly commands: CommandBus) {}

  /** What was made with one that ends here is for no other project either, and ends too: it never was for more. */
  async execute({ projectId, tx }: ForgetProjectCommand): Promise<null> {
    const [ended] = await tx.query<[EndedCredential[], number]>(
      `update credential set revoked_at = clock_timestamp(), projects = '{}'
       where organization_id = tenant_organization() and projects = array[$1::uuid] and revoked_at is null returning id, member_id as "memberId"`,
      [projectId],
    );
    await tx.query(`update credential set projects = array_remove(projects, $1::uuid) where organization_id = tenant_organization() and $1 = any (projects)`, [projectId]);
    await this.commands.execute(new RecordAuditCommand(tx, purge, ...ended.map(revokedEvent)));
    return null;
  }
}
