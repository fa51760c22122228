import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { defaultMaxSteps } from '@domain/bots/bot.js';
import { ProvisionBotCommand } from '../public/provision-bot.command.js';
import { findBot, findProvisionedBot } from '../queries/bots.js';
import { insertBot } from './create-bot.command.js';

@CommandHandler(ProvisionBotCommand)
export class ProvisionBotHandler implements ICommandHandler<ProvisionBotCommand> {
  async execute({ context, ownerId, current, model, tx }: ProvisionBotCommand): Promise<string> {
    const there = (current === null ? null : await findBot(tx, current)) ?? (await findProvisionedBot(tx, ownerId));
    if (!there) {
      const id = uuidv7();
      await insertBot(tx, context, { id, ownerId, name: 'Assistant', instructions: null, model, modelFollowsEnvironment: true, maxSteps: defaultMaxSteps });
      return id;
    }
    await tx.query(
      `update bot set model = $2, revision = revision + 1, updated_at = clock_timestamp()
       where organization_id = tenant_organization() and project_id = tenant_project() and id = $1 and model_follows_environment and model is distinct from $2::jsonb`,
      [there.id, model],
    );
    return there.id;
  }
}
