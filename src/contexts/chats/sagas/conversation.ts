import { v7 as uuidv7 } from 'uuid';
import type { ItemContent, NoticeOrigin } from '@domain/chats/items.js';
import { shownContent } from '@domain/chats/shown-item.js';
import { openTodos } from '@domain/chats/todos.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { ModelSelection } from '@domain/models/catalog.js';
import type { TokenUsage } from '@core/model.js';
import type { FeatureRows, PhaseRun } from '@engine/phase.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { chatColumns, type ChatRow } from '../queries/chats.js';
import { readUnreadInputs, type UnreadInput } from '../queries/inputs.js';
import { openContent, originOf, readHistory, sealContent } from '../queries/items.js';
import { openTodoList, sealTodoList, type TodoList } from '../queries/todos.js';
import { turnColumns, type TurnRow } from '../queries/turns.js';
import type { SecretUse } from './secret-use.js';
import { chatOf, type TurnCursor } from './turn-cursor.js';

export type Entry = { readonly turnId: string; readonly step: number; readonly content: ItemContent };

/**
 * A chat as its advancing turn sees it: what is stored and what this owner has handed over to be stored. Only this turn writes items, so the place
 * of the next one is known here.
 */
export type Conversation = {
  readonly chatId: string;
  readonly botId: string;
  /** The chat's own choice; without one its bot's model counts. */
  readonly model: ModelSelection | null;
  readonly turnId: string;
  readonly entries: Entry[];
  itemCount: number;
  steps: number;
  usage: TokenUsage | null;
  todos: TodoList;
  todosVersion: number;
  /** Inputs that no step has taken yet, as of the last look. */
  unread: readonly UnreadInput[];
  readonly taken: Set<string>;
};

const keptAs = 'conversation';

/** The chat that a turn belongs to, and the turn itself. */
export async function readChatOfTurn(tx: ReadTx, chatId: string, turnId: string): Promise<{ readonly chat: ChatRow; readonly turn: TurnRow }> {
  // Sent together: the pools pipeline.
  const [[chat], [turn]] = await Promise.all([
    tx.query<ChatRow[]>(`select ${chatColumns} from chat where chat.id = $1`, [chatId]),
    tx.query<TurnRow[]>(`select ${turnColumns} from chat_turn turn where turn.id = $1 and turn.chat_id = $2`, [turnId, chatId]),
  ]);
  if (!chat || !turn) throw new Error('the chat of a turn is not there');
  return { chat, turn };
}

/** The first look of an owner reads everything; later ones only what others may have changed: inputs and the todo list. */
export async function openConversation(tx: ReadTx, key: OrganizationKey, run: PhaseRun<TurnCursor>): Promise<Conversation> {
  const { cursor, subjectId } = run.execution;
  const kept = run.kept.get(keptAs) as Conversation | undefined;
  const [{ chat, turn }, unread, rows] = await Promise.all([
    readChatOfTurn(tx, chatOf(subjectId), cursor.turnId),
    readUnreadInputs(tx, key, cursor.turnId),
    kept ? [] : readHistory(tx, chatOf(subjectId)),
  ]);
  if (kept) {
    kept.unread = unread.filter(({ id }) => !kept.taken.has(id));
    // A version that this owner has not seen is a person's change; an older one is this owner's own, still on its way.
    if (chat.todos_version > kept.todosVersion) Object.assign(kept, { todos: openTodoList(key, chat), todosVersion: chat.todos_version });
    return kept;
  }
  const opened: Conversation = {
    chatId: chat.id,
    botId: chat.bot_id,
    model: turn.settings.model ?? null,
    turnId: turn.id,
    entries: rows.map((row) => ({ turnId: row.turn_id, step: row.step, content: openContent(key, row) })),
    itemCount: chat.item_count,
    steps: turn.steps,
    usage: turn.usage,
    todos: openTodoList(key, chat),
    todosVersion: chat.todos_version,
    unread,
    taken: new Set(),
  };
  run.kept.set(keptAs, opened);
  return opened;
}

export type NewItem = { readonly content: ItemContent; readonly input?: string; readonly notice?: NoticeOrigin };
export type ConversationChange = {
  readonly step: number;
  readonly items: readonly NewItem[];
  /** Inputs that these items are made of. */
  readonly inputs?: readonly UnreadInput[];
  readonly todos?: TodoList;
  readonly steps?: number;
  readonly usage?: TokenUsage | null;
  /** A stored key that the turn is about to use. */
  readonly secret?: SecretUse | null;
};
export type Recorded = { readonly rows: FeatureRows; readonly events: readonly ExecutionEventBody[] };

/** Notes a change in the conversation, and puts it into the form of the one commit that stores it, with the events that tell of it. */
export function record(talk: Conversation, key: OrganizationKey, change: ConversationChange): Recorded {
  const { step, inputs = [], todos, secret } = change;
  const before = talk.itemCount;
  const items = change.items.map((item, index) => ({ ...item, id: uuidv7(), seq: before + index + 1 }));
  talk.itemCount += items.length;
  talk.entries.push(...items.map(({ content }) => ({ turnId: talk.turnId, step, content })));
  if (change.steps !== undefined) talk.steps = change.steps;
  if (change.usage !== undefined) talk.usage = change.usage;
  if (todos) Object.assign(talk, { todos, todosVersion: talk.todosVersion + 1 });
  for (const { id } of inputs) talk.taken.add(id);
  talk.unread = talk.unread.filter(({ id }) => !talk.taken.has(id));

  const rows = {
    turn: talk.turnId,
    itemCount: before,
    step,
    steps: talk.steps,
    usage: talk.usage,
    items: items.map(({ id, content, input, notice }) => ({
      id,
      step,
      content: sealContent(key, id, content).toString('base64'),
      ...(input ? { input } : {}),
      ...(notice ? { notice: notice.kind, ref: notice.ref } : {}),
    })),
    ...(secret ? { secret } : {}),
    ...(inputs.length > 0 ? { inputs: inputs.map(({ id }) => id) } : {}),
    ...(todos ? { todos: { body: sealTodoList(key, talk.chatId, todos)?.toString('base64') ?? null, open: openTodos(todos.items).length } } : {}),
  };
  const events = items.map(({ id, seq, content, notice = null }): ExecutionEventBody => {
    const origin = originOf({ chatId: talk.chatId, turnId: talk.turnId, step, notice });
    return { _tag: 'Item', item: { id: toPublicId('item', id), seq, content: shownContent(content), origin } };
  });
  return { rows: { feature: 'chat', aggregateId: talk.chatId, rows }, events };
}

/** The items that inputs become, in the order in which they came. */
export const itemsOf = (inputs: readonly UnreadInput[]): NewItem[] => inputs.flatMap(({ id, messages }) => messages.map((content) => ({ content, input: id })));
