import { toPublicId } from '@platform/ids/typeid.js';
import type { ChatRow } from '../queries/chats.js';
import type { Placed } from './place-input.js';

/** What the caller gets, now and on every retry, in public ids. The command key is the caller's own and is not stored. */
export type MessageReceipt = { readonly executionId: string; readonly sequence: number; readonly chat: string; readonly turn: string };
export type SentMessage = MessageReceipt & { readonly commandKey: string };

export const toReceipt = (chat: Pick<ChatRow, 'id'>, placed: Placed): MessageReceipt => ({
  executionId: toPublicId('execution', placed.executionId),
  sequence: placed.sequence,
  chat: toPublicId('chat', chat.id),
  turn: toPublicId('turn', placed.turnId),
});

/** In one order, so that a retry gets the very same bytes. */
export const toSentMessage = ({ executionId, sequence, chat, turn }: MessageReceipt, commandKey: string): SentMessage => ({ executionId, commandKey, sequence, chat, turn });
