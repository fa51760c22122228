import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { RevokeCredentialsCommand } from '../public/revoke-credentials.command.js';
import { revokedEvent } from './credential-events.js';
import { revokeTree } from './revoke-tree.js';

@CommandHandler(RevokeCredentialsCommand)
export class RevokeCredentialsHandler implements ICommandHandler<RevokeCredentialsCommand> {
  constructor(private readonly commands: CommandBus) {}

  /** Their own first: what they make at this moment is there afterwards. */
  async execute({ memberId, who, tx }: RevokeCredentialsCommand): Promise<null> {
    await revokeTree(tx, 'member_id = $1', [memberId]);
    const given = await revokeTree(tx, 'created_by = $1', [memberId]);
    await this.commands.execute(new RecordAuditCommand(tx, who, ...given.map(revokedEvent)));
    return null;
  }
}
