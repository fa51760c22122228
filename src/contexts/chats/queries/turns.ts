import type { ChatSettings, TurnState } from '@domain/chats/chat.js';
import type { Author } from '@domain/chats/inbox.js';
import type { TokenUsage } from '@core/model.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import { ownChat } from './chats.js';

export type TurnRow = {
  readonly id: string;
  readonly chat_id: string;
  readonly execution_id: string;
  readonly author_member_id: string;
  readonly author_token_id: string;
  readonly state: TurnState;
  readonly settings: ChatSettings;
  readonly steps: number;
  readonly usage: TokenUsage | null;
  readonly first_seq: number;
  readonly item_count: number;
  readonly failure_category: string | null;
  readonly error_id: string | null;
  readonly started_at: Date | null;
  readonly completed_at: Date | null;
};

export const turnColumns = `turn.id, turn.chat_id, turn.execution_id, turn.author_member_id, turn.author_token_id, turn.state, turn.settings, turn.steps, turn.usage, turn.first_seq,
  turn.item_count, turn.failure_category, turn.error_id, turn.started_at, turn.completed_at`;

export const authorOf = (turn: Pick<TurnRow, 'author_member_id' | 'author_token_id'>): Author => ({ memberId: turn.author_member_id, tokenId: turn.author_token_id });

/** Makes a turn the one that moves, with the next place among those that are shown. The chat's row is locked. */
export async function advanceTurn(tx: Tx, chatId: string, turnId: string): Promise<void> {
  await tx.query(`update chat set turn_count = turn_count + 1, running_turn_id = $2 where id = $1`, [chatId, turnId]);
  await tx.query(`update chat_turn set number = (select turn_count from chat where id = $1) where id = $2`, [chatId, turnId]);
}

/** One page, the oldest first; those that wait are not shown. The cursor is a turn: its place is the one thing that never changes. */
export const listTurns = (tx: ReadTx, who: Identity, chatId: string, page: { readonly after: string | null; readonly limit: number }): Promise<TurnRow[]> =>
  tx.query<TurnRow[]>(
    `select ${turnColumns} from chat_turn turn join chat on chat.id = turn.chat_id
     where ${ownChat} and chat.id = $2 and turn.number is not null
       and turn.number > coalesce((select last.number from chat_turn last where last.id = $3 and last.chat_id = $2), 0)
     order by turn.number limit $4`,
    [who.memberId, chatId, page.after, page.limit],
  );

export async function findTurn(tx: ReadTx, who: Identity, chatId: string, turnId: string): Promise<TurnRow | null> {
  const [row] = await tx.query<TurnRow[]>(
    `select ${turnColumns} from chat_turn turn join chat on chat.id = turn.chat_id where ${ownChat} and chat.id = $2 and turn.id = $3 and turn.number is not null`,
    [who.memberId, chatId, turnId],
  );
  return row ?? null;
}
