import type { EndState } from '../executions/state.js';
import type { ModelSelection } from '../models/catalog.js';

export const chatKinds = ['direct', 'channel', 'task', 'review', 'live'] as const;
/** Why there is a chat. People write to direct, task and live chats themselves. */
export type ChatKind = (typeof chatKinds)[number];
export const takesMessages = (kind: ChatKind): boolean => kind === 'direct' || kind === 'task' || kind === 'live';

export const chatModes = ['build', 'plan'] as const;
export type ChatMode = (typeof chatModes)[number];
/** Copied into every new turn. Without `model` the chat uses its bot's. */
export type ChatSettings = { readonly mode: ChatMode; readonly model?: ModelSelection };

/** Work of a chat that comes back as a notice. */
export type OpenWork = { readonly delegations: number; readonly requests: number; readonly reminders: number };
/** What a chat has open that gave nothing away. */
export const nothingOpen: OpenWork = { delegations: 0, requests: 0, reminders: 0 };
export const hasOpenWork = ({ delegations, requests, reminders }: OpenWork): boolean => delegations + requests + reminders > 0;

/** A queued turn waits behind the chat's advancing one, or is that one before its first step. */
export const turnStates = ['queued', 'running', 'completed', 'failed', 'interrupted'] as const;
export type TurnState = (typeof turnStates)[number];

export const turnStateAfter = (end: EndState): TurnState => (end === 'completed' || end === 'failed' ? end : 'interrupted');

export type TurnStatus = 'Running' | 'Completed' | 'Failed' | 'Interrupted';
export type ChatStatus = TurnStatus | 'Idle';
export type ResponseStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** What people see of a turn. One that waits is not shown, so a queued turn that is shown is about to run. */
const shown: Readonly<Record<TurnState, readonly [TurnStatus, ResponseStatus]>> = {
  queued: ['Running', 'in_progress'],
  running: ['Running', 'in_progress'],
  completed: ['Completed', 'completed'],
  failed: ['Failed', 'failed'],
  interrupted: ['Interrupted', 'cancelled'],
};
export const turnStatus = (state: TurnState): TurnStatus => shown[state][0];
export const responseStatus = (state: TurnState): ResponseStatus => shown[state][1];

export type ChatNotFound = { readonly _tag: 'ChatNotFound' };
/** This kind of chat takes no messages from people. */
export type ChatTakesNoMessages = { readonly _tag: 'ChatConflict'; readonly kind: ChatKind };
/** The chat was changed; `revision` is the one to read and send again. */
export type ChatStale = { readonly _tag: 'ChatConflict'; readonly revision: number };
/** No provider of models is there at all. */
export type ChatExecutionUnavailable = { readonly _tag: 'ChatExecutionUnavailable' };
