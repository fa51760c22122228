import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CloseAccountCommand } from '../public/close-account.command.js';
import { closeAccount } from '../queries/account.js';

@CommandHandler(CloseAccountCommand)
export class CloseAccountHandler implements ICommandHandler<CloseAccountCommand> {
  async execute({ memberId, tx }: CloseAccountCommand): Promise<null> {
    await closeAccount(tx, memberId);
    return null;
  }
}
