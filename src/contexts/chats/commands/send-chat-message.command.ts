import { Command, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotNotFound } from '@domain/bots/bot.js';
import type { ChatExecutionUnavailable, ChatNotFound, ChatTakesNoMessages } from '@domain/chats/chat.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { ChatModelInvalid } from '@domain/models/catalog.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand } from '@engine/admit.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { LoadBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { read, transact } from '@platform/database/transact.js';
import { keyed } from '@platform/identity/command-key.js';
import type { Identity } from '@platform/identity/identity.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { findOwnChat, lockOwnChat } from '../queries/chats.js';
import { checkModel } from './check-model.js';
import { toReceipt, toSentMessage, type MessageReceipt, type SentMessage } from './message-receipt.js';
import { placeMessage, type Message } from './place-input.js';
import { namingOutage, type ChatStorageUnavailable } from './storage-outage.js';

type MayFail = ChatNotFound | BotNotFound | Forbidden | ChatModelInvalid | ChatExecutionUnavailable;
export type SendChatMessageFailure = MayFail | ChatTakesNoMessages | ExecutionKeyConflict | ChatStorageUnavailable;

/** Sends a message to a chat that the member has. */
export class SendChatMessageCommand extends Command<Result<SentMessage, SendChatMessageFailure>> {
  constructor(
    readonly identity: Identity,
    readonly commandKey: string,
    readonly chatId: string,
    readonly message: Message,
  ) {
    super();
  }
}

@CommandHandler(SendChatMessageCommand)
export class SendChatMessageHandler implements ICommandHandler<SendChatMessageCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly wake: WakeChannel,
    private readonly records: ErrorRecords,
  ) {}

  async execute(command: SendChatMessageCommand): Promise<Result<SentMessage, SendChatMessageFailure>> {
    const sent = await namingOutage(this.records, command.identity, () => this.send(command));
    if (!sent.ok) return sent;
    const executionId = fromPublicId('execution', sent.value.executionId);
    if (executionId) this.wake.publish([executionId]);
    return ok(toSentMessage(sent.value, command.commandKey));
  }

  private async send({ identity, commandKey, chatId, message }: SendChatMessageCommand): Promise<Result<MessageReceipt, SendChatMessageFailure>> {
    const { context } = identity;
    const key = await this.sealer.keyOf(context.organizationId);
    const command = await keyed(this.sealer, identity, commandKey, { command: 'sendMessage', project: context.projectId, chat: chatId, ...message });
    // Asked before the transaction and judged in it: a retry gets its receipt also when chat or bot are gone by now.
    const allowed = await this.checkChat(identity, chatId);
    return transact<Result<MessageReceipt, SendChatMessageFailure>>(this.db, context, async (tx) => {
      const taken = await takeCommand<MessageReceipt>(tx, command);
      if (!taken.ok) return taken;
      if (taken.value) return ok(taken.value);
      if (!allowed.ok) return allowed;

      const chat = await lockOwnChat(tx, identity, chatId);
      if (!chat) return fail({ _tag: 'ChatNotFound' });
      const placed = await placeMessage(tx, key, identity, chat, message);
      if (!placed.ok) return placed;
      return ok(await settleCommand(tx, command, toReceipt(chat, placed.value)));
    });
  }

  /** The chat first: whoever has no such chat learns nothing of its bot. */
  private async checkChat(identity: Identity, chatId: string): Promise<Result<null, MayFail>> {
    const chat = await read(this.db, identity.context, (tx) => findOwnChat(tx, identity, chatId));
    if (!chat) return fail({ _tag: 'ChatNotFound' });
    const bot = await this.queries.execute(new LoadBotForWorkQuery(identity.context, identity, chat.bot_id));
    return bot.ok ? checkModel(this.queries, identity.context, chat.model ?? bot.value.model) : bot;
  }
}
