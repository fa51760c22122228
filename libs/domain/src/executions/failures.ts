/** What a client may learn of an unexpected failure: a category to branch on and an id to quote. The cause is sealed under the id. */
export type SafeFailure = { readonly category: string; readonly errorId: string };
export type ExecutionKeyConflict = { readonly _tag: 'ExecutionKeyConflict'; readonly commandKey: string };
export type ExecutionNotFound = { readonly _tag: 'ExecutionNotFound' };
