import { Module } from '@nestjs/common';
import { InterruptChatHandler } from './commands/interrupt-chat.command.js';
import { ReplaceTodosHandler } from './commands/replace-todos.command.js';
import { SendBotMessageHandler } from './commands/send-bot-message.command.js';
import { SendChatMessageHandler } from './commands/send-chat-message.command.js';
import { BotMessagesController } from './http/bot-messages.controller.js';
import { ChatHistoryController } from './http/chat-history.controller.js';
import { ChatsController } from './http/chats.controller.js';
import { TodosController } from './http/todos.controller.js';
import { InterruptSaga } from './sagas/interrupt.saga.js';
import { ModelStepHandler } from './sagas/phases/model-step.js';
import { PrepareTurnHandler } from './sagas/phases/prepare-turn.js';
import { RemindOfTodosHandler } from './sagas/phases/remind-of-todos.js';
import { ToolStepHandler } from './sagas/phases/tool-step.js';
import { TurnSaga } from './sagas/turn.saga.js';

/** What people send and read: needed wherever the API is. */
@Module({
  controllers: [BotMessagesController, ChatsController, ChatHistoryController, TodosController],
  providers: [InterruptChatHandler, ReplaceTodosHandler, SendBotMessageHandler, SendChatMessageHandler],
})
export class ChatsModule {}

/** What moves turns: needed wherever the engine is, and uses the worker's database. */
@Module({ providers: [TurnSaga, InterruptSaga, PrepareTurnHandler, ModelStepHandler, ToolStepHandler, RemindOfTodosHandler] })
export class ChatsWorkerModule {}
