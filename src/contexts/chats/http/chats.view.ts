import { nothingOpen, responseStatus, turnStatus } from '@domain/chats/chat.js';
import type { ItemContent } from '@domain/chats/items.js';
import { shownContent } from '@domain/chats/shown-item.js';
import type { OrganizationKey } from '@engine/sealing.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ChatOverview } from '../queries/chat-overviews.js';
import { settingsOf, type ChatRow } from '../queries/chats.js';
import { openContent, originOf, type ItemRow } from '../queries/items.js';
import type { TurnDetails } from '../queries/turn-details.js';
import type { TurnRow } from '../queries/turns.js';
import type { ChatRecordView, ChatSummaryView, ChatView, ResponseView, ShortResponseView, TurnView } from './chats.dto.js';
import type { ItemView } from './items.dto.js';

const toChatRecord = (chat: ChatRow): ChatRecordView => ({
  id: toPublicId('chat', chat.id),
  revision: chat.revision,
  kind: chat.kind,
  bot: toPublicId('bot', chat.bot_id),
  parent: null,
  settings: settingsOf(chat),
  createdAt: chat.created_at.getTime(),
});

export const toTurnView = ({ turn, items, inputs }: TurnDetails): TurnView => ({
  id: toPublicId('turn', turn.id),
  status: { _tag: turnStatus(turn.state) },
  settings: turn.settings,
  author: toPublicId('member', turn.author_member_id),
  executionId: toPublicId('execution', turn.execution_id),
  steps: turn.steps,
  usage: turn.usage,
  input: inputs.map((id) => toPublicId('item', id)),
  items: items.map((id) => toPublicId('item', id)),
  startedAt: turn.started_at?.getTime() ?? null,
  completedAt: turn.completed_at?.getTime() ?? null,
});

const toShortResponse = (turn: TurnRow): ShortResponseView => ({ id: toPublicId('turn', turn.id), status: responseStatus(turn.state) });

export const toResponseView = (turn: TurnRow, output: ItemContent[]): ResponseView => ({
  ...toShortResponse(turn),
  output,
  usage: turn.usage,
  error: turn.failure_category !== null && turn.error_id !== null ? { category: turn.failure_category, errorId: toPublicId('error', turn.error_id) } : null,
});

const head = ({ chat, turn }: ChatOverview, details: TurnDetails | null) => ({
  chat: toChatRecord(chat),
  status: turn ? turnStatus(turn.state) : ('Idle' as const),
  turn: details && toTurnView(details),
  executionId: turn && toPublicId('execution', turn.execution_id),
});

export const toChatView = (overview: ChatOverview, details: TurnDetails | null, output: ItemContent[]): ChatView => ({
  ...head(overview, details),
  response: overview.turn && toResponseView(overview.turn, output),
  inbox: overview.inbox,
  open: nothingOpen,
});

export const toSummaryView = (overview: ChatOverview, details: TurnDetails | null): ChatSummaryView => ({
  ...head(overview, details),
  response: overview.turn && toShortResponse(overview.turn),
});

export const toItemView = (key: OrganizationKey, item: ItemRow): ItemView => ({
  id: toPublicId('item', item.id),
  seq: item.seq,
  content: shownContent(openContent(key, item)),
  origin: originOf({ chatId: item.chat_id, turnId: item.turn_id, step: item.step, notice: item.notice_kind && { kind: item.notice_kind, ref: item.notice_ref } }),
});
