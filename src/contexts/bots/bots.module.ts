import { Module } from '@nestjs/common';
import { ChangeBotHandler } from './commands/change-bot.command.js';
import { CreateBotHandler } from './commands/create-bot.command.js';
import { DeleteBotHandler } from './commands/delete-bot.command.js';
import { ProvisionBotHandler } from './commands/provision-bot.command.js';
import { SetBotGrantsHandler } from './commands/set-bot-grants.command.js';
import { BotGrantsController } from './http/bot-grants.controller.js';
import { BotsController } from './http/bots.controller.js';
import { CheckBotForWorkHandler, LoadBotForWorkHandler, LoadBotHandler } from './queries/load-bot.handlers.js';

@Module({
  controllers: [BotsController, BotGrantsController],
  providers: [ChangeBotHandler, CreateBotHandler, DeleteBotHandler, ProvisionBotHandler, SetBotGrantsHandler, CheckBotForWorkHandler, LoadBotForWorkHandler, LoadBotHandler],
})
export class BotsModule {}
