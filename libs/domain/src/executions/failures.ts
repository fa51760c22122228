import type { CallState } from './call.js';

/** What a client may learn of an unexpected failure: a category to branch on and an id to quote. The cause is sealed under the id. */
export type SafeFailure = { readonly category: string; readonly errorId: string };
export type ExecutionKeyConflict = { readonly _tag: 'ExecutionKeyConflict'; readonly commandKey: string };
export type ExecutionNotFound = { readonly _tag: 'ExecutionNotFound' };
/** The cursor names an event that the log does not have: it was read before a failover that lost it. `sequence` is the last that there is. */
export type CursorAhead = { readonly _tag: 'CursorAhead'; readonly sequence: number };
export type CallNotFound = { readonly _tag: 'CallNotFound' };
/** Only an unknown call waits for a decision, and one only. */
export type CallConflict = { readonly _tag: 'CallConflict'; readonly state: CallState };
