import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { GivePasswordCommand } from '../public/give-password.command.js';
import { storePassword } from '../queries/account.js';

@CommandHandler(GivePasswordCommand)
export class GivePasswordHandler implements ICommandHandler<GivePasswordCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ memberId, passwordHash, address, tx }: GivePasswordCommand): Promise<null> {
    await storePassword(tx, memberId, passwordHash);
    const who = { kind: 'member', memberId, credential: null, address } as const;
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'password.set', target: memberId, detail: {} }));
    return null;
  }
}
