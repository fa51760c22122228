import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { findOwnChat } from '../queries/chats.js';
import { listItems, listTurnItems } from '../queries/items.js';
import { detailTurns, readOutput } from '../queries/turn-details.js';
import { findTurn, listTurns } from '../queries/turns.js';
import { TurnPage, TurnsQuery, TurnWithResponseView } from './chats.dto.js';
import { readChatProblems } from './chats.problems.js';
import { ItemPage, ItemsQuery, TurnItemsQuery } from './items.dto.js';
import { toItemView, toResponseView, toTurnView } from './chats.view.js';

const noChat = fail({ _tag: 'ChatNotFound' as const });

@ApiTags('Chats')
@Controller('v1/chats/:chatId')
export class ChatHistoryController {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  @Get('items')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listChatItems', summary: 'List the items of a chat, newest first' })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: ItemPage })
  @ApiProblems(readChatProblems)
  async listItems(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string,
    @Query() query: ItemsQuery,
  ): Promise<ItemPage> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const before = query.before === undefined ? null : fromPublicId('item', query.before);
    const rows = await read(this.db, identity.context, async (tx) => {
      const chat = await findOwnChat(tx, identity, chatId);
      return chat ? ok(await listItems(tx, identity, chatId, { before, limit: query.limit + 1 })) : noChat;
    });
    return pageOf(
      respond(rows, readChatProblems),
      query.limit,
      (row) => toItemView(key, row),
      ({ id }) => toPublicId('item', id),
    );
  }

  @Get('turns')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listTurns', summary: 'List the turns of a chat, oldest first', description: 'A turn that still waits is not shown.' })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: TurnPage })
  @ApiProblems(readChatProblems)
  async listTurns(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string,
    @Query() query: TurnsQuery,
  ): Promise<TurnPage> {
    const after = query.after === undefined ? null : fromPublicId('turn', query.after);
    const turns = await read(this.db, identity.context, async (tx) => {
      const chat = await findOwnChat(tx, identity, chatId);
      return chat ? ok(await detailTurns(tx, await listTurns(tx, identity, chatId, { after, limit: query.limit + 1 }))) : noChat;
    });
    return pageOf(respond(turns, readChatProblems), query.limit, toTurnView, ({ turn }) => toPublicId('turn', turn.id));
  }

  @Get('turns/:turnId')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'readTurn', summary: 'Read a turn and its response' })
  @ApiParam({ name: 'chatId' })
  @ApiParam({ name: 'turnId' })
  @ApiOkResponse({ type: TurnWithResponseView })
  @ApiProblems(readChatProblems)
  async readTurn(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string,
    @PublicId('turnId', 'turn', readChatProblems, 'ChatNotFound') turnId: string,
  ): Promise<TurnWithResponseView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const view = await read(this.db, identity.context, async (tx) => {
      const turn = await findTurn(tx, identity, chatId, turnId);
      const [details] = turn ? await detailTurns(tx, [turn]) : [];
      return turn && details ? ok({ turn: toTurnView(details), response: toResponseView(turn, await readOutput(tx, key, turn)) }) : noChat;
    });
    return respond(view, readChatProblems);
  }

  @Get('turns/:turnId/items')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listTurnItems', summary: 'List the items of a turn, oldest first' })
  @ApiParam({ name: 'chatId' })
  @ApiParam({ name: 'turnId' })
  @ApiOkResponse({ type: ItemPage })
  @ApiProblems(readChatProblems)
  async listTurnItems(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string,
    @PublicId('turnId', 'turn', readChatProblems, 'ChatNotFound') turnId: string,
    @Query() query: TurnItemsQuery,
  ): Promise<ItemPage> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const after = query.after === undefined ? null : fromPublicId('item', query.after);
    const rows = await read(this.db, identity.context, async (tx) => {
      const turn = await findTurn(tx, identity, chatId, turnId);
      return turn ? ok(await listTurnItems(tx, turn, { after, limit: query.limit + 1 })) : noChat;
    });
    return pageOf(
      respond(rows, readChatProblems),
      query.limit,
      (row) => toItemView(key, row),
      ({ id }) => toPublicId('item', id),
    );
  }
}
