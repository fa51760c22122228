import type { Author, Inbox, WaitingTurn } from '@domain/chats/inbox.js';
import type { ExecutionState } from '@domain/executions/state.js';
import { lockHeads } from '@engine/executions.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { authorOf, type TurnRow } from './turns.js';

/** A turn that has not ended, as the inbox rules and those who move its execution see it. */
export type OpenTurn = { readonly id: string; readonly executionId: string; readonly author: Author; readonly began: boolean; readonly firstInput: number };
export type OpenTurns = { readonly advancing: OpenTurn | null; readonly waiting: readonly OpenTurn[] };

type Row = Pick<TurnRow, 'id' | 'execution_id' | 'author_member_id' | 'author_token_id' | 'state'> & { readonly first_input: number | null };

/** The chat's row is locked, or the caller only looks. */
export async function readOpenTurns(tx: ReadTx, chat: { readonly id: string; readonly running_turn_id: string | null }): Promise<OpenTurns> {
  const rows = await tx.query<Row[]>(
    `select turn.id, turn.execution_id, turn.author_member_id, turn.author_token_id, turn.state,
       (select min(input.number) from chat_input input where input.turn_id = turn.id and input.taken_at is null) as first_input
     from chat_turn turn where turn.chat_id = $1 and (turn.state = 'queued' or turn.id = $2)`,
    [chat.id, chat.running_turn_id],
  );
  const open = rows.map((row): OpenTurn => ({
    id: row.id,
    executionId: row.execution_id,
    author: authorOf(row),
    began: row.state !== 'queued',
    firstInput: row.first_input ?? Number.MAX_SAFE_INTEGER,
  }));
  return { advancing: open.find(({ id }) => id === chat.running_turn_id) ?? null, waiting: open.filter(({ id }) => id !== chat.running_turn_id) };
}

export const toWaiting = ({ id, author, firstInput }: OpenTurn): WaitingTurn => ({ id, author, firstInput });

const takesInput = (state: ExecutionState | undefined): boolean => state === 'queued' || state === 'running' || state === 'waiting';

/**
 * Locks every head that an input of this author could touch, in one statement, and only then looks whether a stop was asked: a cancel that was
 * accepted before decides.
 */
export async function lockInbox(tx: Tx, { advancing, waiting }: OpenTurns, author: Author): Promise<Inbox> {
  const own = (turn: OpenTurn): boolean => turn.author.memberId === author.memberId && turn.author.tokenId === author.tokenId;
  const touched = [advancing, ...waiting].filter((turn): turn is OpenTurn => turn !== null && own(turn));
  const heads =
    touched.length === 0
      ? []
      : await lockHeads(
          tx,
          touched.map(({ executionId }) => executionId),
        );
  const states = new Map(heads.map(({ id, state }) => [id, state]));
  const isStopping = (turn: OpenTurn): boolean => own(turn) && !takesInput(states.get(turn.executionId));
  return {
    advancing: advancing && { id: advancing.id, author: advancing.author, began: advancing.began, stopping: isStopping(advancing) },
    waiting: waiting.filter((turn) => !isStopping(turn)).map(toWaiting),
  };
}
