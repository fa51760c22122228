import { v7 as uuidv7 } from 'uuid';
import type { ChatNotFound, ChatTakesNoMessages } from '@domain/chats/chat.js';
import { admitMessage, type Placement } from '@domain/chats/inbox.js';
import type { UserMessage } from '@domain/chats/message-input.js';
import { ok, type Result } from '@domain/result.js';
import { appendEvent, holdMember } from '@engine/executions.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { Tx } from '@engine/tx.js';
import { workEndsAt, type Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ChatRow } from '../queries/chats.js';
import { saveIdentity } from '../queries/identity-record.js';
import { lockInbox, readOpenTurns, type OpenTurns } from '../queries/inbox.js';
import { insertInput } from '../queries/inputs.js';
import { admitTurn, type AdmittedTurn } from './admit-turn.js';

export type Message = { readonly messages: readonly UserMessage[]; readonly queue: boolean };
/** Where the input went. `sequence` is its event in the log of that turn's execution. */
export type Placed = AdmittedTurn & { readonly sequence: number };

/**
 * Puts a message where the inbox rules send it. Order of locks: the chat (the caller holds it), the member, then the heads that the author's input
 * could touch. The input, its event and a new turn are one change.
 */
export async function placeMessage(tx: Tx, key: OrganizationKey, who: Identity, chat: ChatRow, message: Message): Promise<Result<Placed, ChatNotFound | ChatTakesNoMessages>> {
  const author = { memberId: who.memberId, tokenId: who.tokenId };
  // Sent together: the pools pipeline.
  const [turns] = await Promise.all([readOpenTurns(tx, chat), holdMember(tx, who.memberId)]);
  const inbox = await lockInbox(tx, turns, author);
  const placement = admitMessage({ kind: chat.kind, isDeleted: false }, inbox, { author, queue: message.queue });
  if (!placement.ok) return placement;

  const turn = await turnFor(tx, key, who, chat, { turns, placement: placement.value });
  const input = { id: uuidv7(), turnId: turn.turnId, queue: message.queue, messages: message.messages };
  await insertInput(tx, key, who.context, chat, input);
  const sequence = await appendEvent(tx, key, turn.executionId, { _tag: 'Input', input: toPublicId('input', input.id), turn: toPublicId('turn', turn.turnId) });
  return ok({ ...turn, sequence });
}

type Place = { readonly turns: OpenTurns; readonly placement: Placement };

async function turnFor(tx: Tx, key: OrganizationKey, who: Identity, chat: ChatRow, { turns, placement }: Place): Promise<AdmittedTurn> {
  if (placement._tag === 'StartsTurn') {
    const identityId = await saveIdentity(tx, key, who, chat.bot_id);
    return admitTurn(tx, chat, {
      context: who.context,
      author: { memberId: who.memberId, tokenId: who.tokenId },
      identityId,
      advances: placement.advances,
      endsAt: workEndsAt(who),
    });
  }
  const turn = [turns.advancing, ...turns.waiting].find((open) => open?.id === placement.turn);
  if (!turn) throw new Error('an input was placed into a turn that is not open');
  return { turnId: turn.id, executionId: turn.executionId };
}
