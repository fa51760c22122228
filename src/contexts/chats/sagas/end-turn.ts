import { turnStateAfter } from '@domain/chats/chat.js';
import { afterTurn, type AfterTurn } from '@domain/chats/inbox.js';
import { appendEvent, makeReady, sendSignal } from '@engine/executions.js';
import type { Outcome, Stored } from '@engine/saga.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { Tx } from '@engine/tx.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { admitTurn, type AdmittedTurn } from '../commands/admit-turn.js';
import { loadIdentityRecord } from '../queries/identity-record.js';
import type { ChatRow } from '../queries/chats.js';
import { readOpenTurns, toWaiting, type OpenTurn } from '../queries/inbox.js';
import { moveInputs, readUnreadInputs, takeInputs, type UnreadInput } from '../queries/inputs.js';
import { noTodos } from '../queries/todos.js';
import { advanceTurn, authorOf, type TurnRow } from '../queries/turns.js';
import { itemsOf, readChatOfTurn, record } from './conversation.js';
import { turnEnded } from './interrupt.saga.js';
import { chatOf, type TurnCursor } from './turn-cursor.js';

type Ending = {
  readonly chat: ChatRow;
  readonly turn: TurnRow;
  readonly advanced: boolean;
  readonly unread: readonly UnreadInput[];
  readonly waiting: readonly OpenTurn[];
  readonly interrupts: readonly string[];
  readonly plan: AfterTurn;
};

/** The chat is locked, so what is read here stays so until the end is written. */
async function readEnding(tx: Tx, key: OrganizationKey, { cursor, subjectId }: Stored<TurnCursor>): Promise<Ending> {
  const [{ chat, turn }, unread, [row]] = await Promise.all([
    readChatOfTurn(tx, chatOf(subjectId), cursor.turnId),
    readUnreadInputs(tx, key, cursor.turnId),
    tx.query<{ interrupt_ids: string[] }[]>(`select interrupt_ids from chat_turn where id = $1`, [cursor.turnId]),
  ]);
  const waiting = (await readOpenTurns(tx, chat)).waiting.filter(({ id }) => id !== turn.id);
  const advanced = chat.running_turn_id === turn.id;
  const ending = { author: authorOf(turn), began: turn.state !== 'queued', advanced, unread: unread.map(({ number }) => number) };
  return { chat, turn, advanced, unread, waiting, interrupts: row?.interrupt_ids ?? [], plan: afterTurn(ending, waiting.map(toWaiting)) };
}

const executionOf = (waiting: readonly OpenTurn[], turnId: string): string => {
  const turn = waiting.find(({ id }) => id === turnId);
  if (!turn) throw new Error('a waiting turn vanished under the lock of its chat');
  return turn.executionId;
};

/** The other heads that the end touches: the next turn's, the one that takes over unread steers, and the interrupts that wait for this end. */
export async function headsOfEnd(tx: Tx, key: OrganizationKey, turn: Stored<TurnCursor>): Promise<readonly string[]> {
  const { plan, waiting, interrupts } = await readEnding(tx, key, turn);
  const named = [plan.next._tag === 'Waiting' ? plan.next.turn : null, plan.returns._tag === 'ToWaiting' ? plan.returns.turn : null];
  const heads = named.filter((id) => id !== null).map((id) => executionOf(waiting, id));
  return [...heads, ...(plan.returns._tag === 'ToNew' ? [turn.cursor.successorId] : []), ...interrupts];
}

/** Closes a turn, whatever its outcome, and lets the next one go: no input is lost, and nothing happens between the two. */
export async function endTurn(tx: Tx, key: OrganizationKey, stored: Stored<TurnCursor>, outcome: Outcome): Promise<void> {
  const ending = await readEnding(tx, key, stored);
  const { chat, turn, plan, waiting } = ending;
  if (plan.keeps) await keepInputs(tx, key, stored, ending);
  await closeTurn(tx, ending, outcome);
  const successor = await returnInputs(tx, key, stored, ending);
  if (plan.next._tag === 'Waiting') {
    await advanceTurn(tx, chat.id, plan.next.turn);
    await makeReady(tx, executionOf(waiting, plan.next.turn));
  }
  if (plan.next._tag === 'New' && !successor) throw new Error('a turn for returned inputs is next, but was not made');
  await appendEvent(tx, key, stored.id, { _tag: 'Result', turn: toPublicId('turn', turn.id) });
  for (const interrupt of ending.interrupts) await sendSignal(tx, interrupt, { name: turnEnded, number: 1 });
}

/** Inputs of a turn that never began. They become part of the history when it was its turn; before that, they are as if taken back. */
async function keepInputs(tx: Tx, key: OrganizationKey, stored: Stored<TurnCursor>, { chat, turn, advanced, unread }: Ending): Promise<void> {
  if (!advanced) return void (await takeInputs(tx, unread, null));
  const talk = {
    chatId: chat.id,
    botId: chat.bot_id,
    model: null,
    turnId: turn.id,
    entries: [],
    itemCount: chat.item_count,
    steps: turn.steps,
    usage: turn.usage,
    todos: noTodos,
    todosVersion: chat.todos_version,
    unread,
    taken: new Set<string>(),
  };
  const { rows, events } = record(talk, key, { step: 1, items: itemsOf(unread), inputs: unread });
  await tx.query(`select feature_rows_chat(head, $2, $3::jsonb) from execution head where head.id = $1`, [stored.id, chat.id, JSON.stringify(rows.rows)]);
  for (const event of events) await appendEvent(tx, key, stored.id, event);
}

async function closeTurn(tx: Tx, { chat, turn, advanced }: Ending, { as, failure }: Outcome): Promise<void> {
  if (!advanced) await tx.query(`update chat set turn_count = turn_count + 1 where id = $1`, [chat.id]);
  await tx.query(
    `update chat_turn set state = $2, completed_at = clock_timestamp(), failure_category = $3, error_id = $4,
       number = coalesce(number, (select turn_count from chat where id = chat_id)) where id = $1`,
    [turn.id, turnStateAfter(as), failure?.category ?? null, failure?.errorId ?? null],
  );
  // A list with nothing open left goes with its turn, so that a chat without an end carries no old one.
  const clears = `$2 and todos_open = 0 and todos is not null`;
  await tx.query(
    `update chat set revision = revision + 1, running_turn_id = case when $2 then null else running_turn_id end,
       todos_version = todos_version + (${clears})::int, todos = case when ${clears} then null else todos end where id = $1`,
    [chat.id, advanced],
  );
}

/** Unread steers go on where the plan says, under their old numbers; the old log tells where to. */
async function returnInputs(tx: Tx, key: OrganizationKey, stored: Stored<TurnCursor>, { chat, turn, unread, waiting, plan }: Ending): Promise<AdmittedTurn | null> {
  const { returns, next } = plan;
  if (returns._tag === 'Nothing') return null;
  const target =
    returns._tag === 'ToWaiting'
      ? { turnId: returns.turn, executionId: executionOf(waiting, returns.turn) }
      : await admitSuccessor(tx, key, stored, { chat, turn, advances: next._tag === 'New' });
  await moveInputs(tx, unread, target.turnId);
  const [input, into, executionId] = [(id: string) => toPublicId('input', id), toPublicId('turn', target.turnId), toPublicId('execution', target.executionId)];
  for (const { id } of unread) {
    await appendEvent(tx, key, stored.id, { _tag: 'InputMoved', input: input(id), turn: into, executionId });
    await appendEvent(tx, key, target.executionId, { _tag: 'Input', input: input(id), turn: into });
  }
  return target;
}

type Succeeded = Pick<Ending, 'chat' | 'turn'> & { readonly advances: boolean };

/** Acts as the ended turn did: its author sent the inputs. */
async function admitSuccessor(tx: Tx, key: OrganizationKey, stored: Stored<TurnCursor>, { chat, turn, advances }: Succeeded): Promise<AdmittedTurn> {
  if (stored.identityId === null) throw new Error('a turn without an identity');
  const { identityId, context, cursor } = stored;
  const { limits } = await loadIdentityRecord(tx, key, identityId);
  const endsAt = limits.endsAt === null ? null : new Date(limits.endsAt);
  return admitTurn(tx, chat, { context, author: authorOf(turn), identityId, advances, endsAt, executionId: cursor.successorId });
}
