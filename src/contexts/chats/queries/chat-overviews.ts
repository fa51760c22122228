import type { ReadTx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import type { ChatKind } from '@domain/chats/chat.js';
import { chatColumns, ownChat, type ChatRow } from './chats.js';
import { turnColumns, type TurnRow } from './turns.js';

/** A chat with its current or last turn, and how many inputs wait for a turn that has not come. */
export type ChatOverview = { readonly chat: ChatRow; readonly turn: TurnRow | null; readonly inbox: number };

type Row = ChatRow & { readonly turn: string | null; readonly inbox: number };

const select = `
  select ${chatColumns}, coalesce(chat.running_turn_id, (select last.id from chat_turn last where last.chat_id = chat.id and last.number is not null order by last.number desc limit 1)) as turn,
    (select count(*)::int from chat_turn waiting join chat_input input on input.turn_id = waiting.id and input.taken_at is null
     where waiting.chat_id = chat.id and waiting.state = 'queued' and waiting.id is distinct from chat.running_turn_id) as inbox
  from chat`;

async function withTurns(tx: ReadTx, rows: readonly Row[]): Promise<ChatOverview[]> {
  const ids = rows.map(({ turn }) => turn).filter((id) => id !== null);
  const turns = ids.length === 0 ? [] : await tx.query<TurnRow[]>(`select ${turnColumns} from chat_turn turn where turn.id = any ($1::uuid[])`, [ids]);
  return rows.map(({ turn, inbox, ...chat }) => ({ chat, turn: turns.find(({ id }) => id === turn) ?? null, inbox }));
}

export async function findOverview(tx: ReadTx, who: Identity, chatId: string): Promise<ChatOverview | null> {
  const rows = await tx.query<Row[]>(`${select} where ${ownChat} and chat.id = $2`, [who.memberId, chatId]);
  const [found] = await withTurns(tx, rows);
  return found ?? null;
}

export type ChatFilter = { readonly botId: string | null; readonly kind: ChatKind | null };

/** One page, the oldest first. Without a kind, those in which people speak. The cursor is an id: a Date would lose the microseconds and repeat rows. */
export async function listOverviews(tx: ReadTx, who: Identity, filter: ChatFilter, page: { readonly after: string | null; readonly limit: number }): Promise<ChatOverview[]> {
  const rows = await tx.query<Row[]>(
    `${select}
     where ${ownChat} and ($2::uuid is null or chat.bot_id = $2) and chat.kind = any ($3)
       and ($4::uuid is null or (chat.created_at, chat.id) > (select last.created_at, last.id from chat last where last.id = $4))
     order by chat.created_at, chat.id limit $5`,
    [who.memberId, filter.botId, filter.kind === null ? ['direct', 'channel', 'live'] : [filter.kind], page.after, page.limit],
  );
  return withTurns(tx, rows);
}
