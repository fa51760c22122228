import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { preparePassword } from '../prepare-password.js';
import { PasswordHasher } from '../password-hasher.js';
import { PreparePasswordCommand } from '../public/prepare-password.command.js';

@CommandHandler(PreparePasswordCommand)
export class PreparePasswordHandler implements ICommandHandler<PreparePasswordCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly hasher: PasswordHasher,
  ) {}

  execute({ wanted }: PreparePasswordCommand) {
    return preparePassword(this.db, this.queries, this.hasher, wanted);
  }
}
