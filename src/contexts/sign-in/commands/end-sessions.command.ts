import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { StopWorkCommand } from '@contexts/organizations/public/stop-work.command.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { EndSessionsCommand } from '../public/end-sessions.command.js';

@CommandHandler(EndSessionsCommand)
export class EndSessionsHandler implements ICommandHandler<EndSessionsCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ tx, who, of: { memberId, exceptId, onlyIds, reason } }: EndSessionsCommand): Promise<void> {
    const [ended] = await tx.query<[{ id: string }[], number]>(
      `update credential set ${reason === 'role' ? 'expires_at' : 'revoked_at'} = clock_timestamp()
       where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and id is distinct from $2 and ($3::uuid[] is null or id = any ($3)) and revoked_at is null and expires_at > clock_timestamp()
       returning id`,
      [memberId, exceptId ?? null, onlyIds ?? null],
    );
    const detail = { member: toPublicId('member', memberId), reason };
    await this.commands.execute(new RecordAuditCommand(tx, who, ...ended.map(({ id }) => ({ action: 'session.revoked', target: id, detail }) as const)));
    if (reason !== 'role' && ended.length > 0) await this.commands.execute(new StopWorkCommand(ended.map(({ id }) => ({ id, memberId })), tx)); // prettier-ignore
  }
}
