import { Command, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { BotNotFound } from '@domain/bots/bot.js';
import type { ChatExecutionUnavailable, ChatNotFound, ChatTakesNoMessages } from '@domain/chats/chat.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { ChatModelInvalid } from '@domain/models/catalog.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand } from '@engine/admit.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { LoadBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { transact } from '@platform/database/transact.js';
import { keyed } from '@platform/identity/command-key.js';
import type { Identity } from '@platform/identity/identity.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { lockDirectChat } from '../queries/chats.js';
import { checkModel } from './check-model.js';
import { toReceipt, toSentMessage, type MessageReceipt, type SentMessage } from './message-receipt.js';
import { placeMessage, type Message } from './place-input.js';
import { namingOutage, type ChatStorageUnavailable } from './storage-outage.js';

type MayFail = BotNotFound | Forbidden | ChatModelInvalid | ChatExecutionUnavailable;
export type SendBotMessageFailure = MayFail | ChatNotFound | ChatTakesNoMessages | ExecutionKeyConflict | ChatStorageUnavailable;

/** Sends a message to the member's direct chat with a bot; the first one makes the chat. */
export class SendBotMessageCommand extends Command<Result<SentMessage, SendBotMessageFailure>> {
  constructor(
    readonly identity: Identity,
    readonly commandKey: string,
    readonly botId: string,
    readonly message: Message,
  ) {
    super();
  }
}

@CommandHandler(SendBotMessageCommand)
export class SendBotMessageHandler implements ICommandHandler<SendBotMessageCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly wake: WakeChannel,
    private readonly records: ErrorRecords,
  ) {}

  async execute(command: SendBotMessageCommand): Promise<Result<SentMessage, SendBotMessageFailure>> {
    const sent = await namingOutage(this.records, command.identity, () => this.send(command));
    if (!sent.ok) return sent;
    const executionId = fromPublicId('execution', sent.value.executionId);
    if (executionId) this.wake.publish([executionId]);
    return ok(toSentMessage(sent.value, command.commandKey));
  }

  private async send({ identity, commandKey, botId, message }: SendBotMessageCommand): Promise<Result<MessageReceipt, SendBotMessageFailure>> {
    const { context } = identity;
    const key = await this.sealer.keyOf(context.organizationId);
    const command = await keyed(this.sealer, identity, commandKey, { command: 'sendMessage', project: context.projectId, bot: botId, ...message });
    // Asked before the transaction and judged in it: a retry gets its receipt also when the bot is gone by now.
    const allowed = await this.checkBot(identity, botId);
    const newId = uuidv7();
    return transact<Result<MessageReceipt, SendBotMessageFailure>>(this.db, context, async (tx) => {
      const taken = await takeCommand<MessageReceipt>(tx, command);
      if (!taken.ok) return taken;
      if (taken.value) return ok(taken.value);
      if (!allowed.ok) return allowed;

      const chat = await lockDirectChat(tx, identity, botId, newId);
      const placed = await placeMessage(tx, key, identity, chat, message);
      if (!placed.ok) return placed;
      return ok(await settleCommand(tx, command, toReceipt(chat, placed.value)));
    });
  }

  private async checkBot(identity: Identity, botId: string): Promise<Result<null, MayFail>> {
    const bot = await this.queries.execute(new LoadBotForWorkQuery(identity.context, identity, botId));
    return bot.ok ? checkModel(this.queries, identity.context, bot.value.model) : bot;
  }
}
