import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import type { ModelEntry } from '@domain/models/catalog.js';
import { fail, ok } from '@domain/result.js';
import { LoadBotQuery } from '@contexts/bots/public/load-bot.queries.js';
import { ListModelsQuery } from '@contexts/models/public/list-models.query.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { InterruptChatCommand } from '../commands/interrupt-chat.command.js';
import { SendChatMessageCommand } from '../commands/send-chat-message.command.js';
import { findOverview, listOverviews } from '../queries/chat-overviews.js';
import { findOwnChat } from '../queries/chats.js';
import { detailTurns, readOutput } from '../queries/turn-details.js';
import { ChatModelsView } from './chat-models.dto.js';
import { ChatPage, ChatsQuery, ChatView } from './chats.dto.js';
import { interruptProblems, readChatProblems, sendChatMessageProblems } from './chats.problems.js';
import { toChatView, toSummaryView } from './chats.view.js';
import { InterruptBody, InterruptReceiptView, MessageReceiptView, messagesOf, SendMessageBody } from './messages.dto.js';

const noChat = fail({ _tag: 'ChatNotFound' as const });

@ApiTags('Chats')
@Controller('v1/chats')
export class ChatsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
  ) {}

  @Get()
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listChats', summary: 'List your chats, oldest first' })
  @ApiOkResponse({ type: ChatPage })
  @ApiProblems()
  async listChats(@CurrentIdentity() identity: Identity, @Query() query: ChatsQuery): Promise<ChatPage> {
    const filter = { botId: query.bot === undefined ? null : fromPublicId('bot', query.bot), kind: query.kind ?? null };
    const page = { after: query.after === undefined ? null : fromPublicId('chat', query.after), limit: query.limit + 1 };
    const { rows, details } = await read(this.db, identity.context, async (tx) => {
      const found = await listOverviews(tx, identity, filter, page);
      return {
        rows: found,
        details: await detailTurns(
          tx,
          found.map(({ turn }) => turn).filter((turn) => turn !== null),
        ),
      };
    });
    return pageOf(
      rows,
      query.limit,
      (row) => toSummaryView(row, details.find(({ turn }) => turn.id === row.turn?.id) ?? null),
      ({ chat }) => toPublicId('chat', chat.id),
    );
  }

  @Get(':chatId')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'readChat', summary: 'Read a chat', description: 'Without its history. Reading starts no work.' })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: ChatView })
  @ApiProblems(readChatProblems)
  async readChat(@CurrentIdentity() identity: Identity, @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string): Promise<ChatView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const view = await read(this.db, identity.context, async (tx) => {
      const overview = await findOverview(tx, identity, chatId);
      if (!overview) return noChat;
      const [details] = await detailTurns(tx, overview.turn ? [overview.turn] : []);
      return ok(toChatView(overview, details ?? null, overview.turn ? await readOutput(tx, key, overview.turn) : []));
    });
    return respond(view, readChatProblems);
  }

  @Post(':chatId/messages')
  @HttpCode(202)
  @Permit('chats.write')
  @CountsAs('message')
  @ApiOperation({ operationId: 'sendChatMessage', summary: 'Send a message to a chat' })
  @ApiParam({ name: 'chatId' })
  @ApiAcceptedResponse({ type: MessageReceiptView })
  @ApiProblems(sendChatMessageProblems)
  async sendChatMessage(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', sendChatMessageProblems, 'ChatNotFound') chatId: string,
    @Body() body: SendMessageBody,
  ): Promise<MessageReceiptView> {
    const messages = respond(messagesOf(body), sendChatMessageProblems);
    const command = new SendChatMessageCommand(identity, body.commandKey, chatId, { messages, queue: body.queue ?? false });
    return respond(await this.commands.execute(command), sendChatMessageProblems);
  }

  @Post(':chatId/interrupt')
  @HttpCode(202)
  @Permit('chats.write')
  @ApiOperation({
    operationId: 'interruptChat',
    summary: 'Stop the running turn',
    description: 'The receipt names the stop itself: it is over when the turn has let go of everything. Without a running turn the chat stays as it is.',
  })
  @ApiParam({ name: 'chatId' })
  @ApiAcceptedResponse({ type: InterruptReceiptView })
  @ApiProblems(interruptProblems)
  async interruptChat(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', interruptProblems, 'ChatNotFound') chatId: string,
    @Body() { commandKey, delegations = false }: InterruptBody,
  ): Promise<InterruptReceiptView> {
    return respond(await this.commands.execute(new InterruptChatCommand(identity, commandKey, chatId, delegations)), interruptProblems);
  }

  @Get(':chatId/models')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listChatModels', summary: 'List the models that a chat may use' })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: ChatModelsView })
  @ApiProblems(readChatProblems)
  async listChatModels(@CurrentIdentity() identity: Identity, @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string): Promise<ChatModelsView> {
    const { context } = identity;
    const chat = await read(this.db, context, (tx) => findOwnChat(tx, identity, chatId));
    const found = respond(chat ? ok(chat) : noChat, readChatProblems);
    const [bot, { providers, models }] = await Promise.all([this.queries.execute(new LoadBotQuery(context, found.bot_id)), this.queries.execute(new ListModelsQuery(context))]);
    return { selected: found.model ?? bot?.model ?? null, providers: [...providers], models: models.map(toModelView) };
  }
}

const toModelView = (model: ModelEntry): ChatModelsView['models'][number] => ({ ...model, reasoningEfforts: [...model.reasoningEfforts], serviceTiers: [...model.serviceTiers] });
