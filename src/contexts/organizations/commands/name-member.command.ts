import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { NameMemberCommand } from '../public/name-member.command.js';

@CommandHandler(NameMemberCommand)
export class NameMemberHandler implements ICommandHandler<NameMemberCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ who, memberId, name, tx }: NameMemberCommand): Promise<null> {
    const [, renamed] = await tx.query<[unknown[], number]>(
      `update member set name = $2, revision = revision + 1 where organization_id = tenant_organization() and id = $1 and name <> $2`,
      [memberId, name],
    );
    if (renamed > 0) await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'member.renamed', target: memberId, detail: {} }));
    return null;
  }
}
