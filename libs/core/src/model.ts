import type { FunctionCall, ItemContent } from '@domain/chats/items.js';

/** A tool as the model sees it. `parameters` is a JSON Schema of an object. */
export type ToolDefinition = { readonly name: string; readonly description: string; readonly parameters: Readonly<Record<string, unknown>> };

export type ModelRequest = {
  readonly instructions: string;
  readonly history: readonly ItemContent[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens?: number;
  readonly reasoningEffort?: string;
};

/** Token counts as the provider confirmed them. `null`: the provider did not say. Cached and reasoning tokens are parts of input and output. */
export type TokenUsage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
};

export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

/** What one model call yields, in order. Exactly one `finish` or `failure` ends it; a stream that just stops is a `failure` of kind `interrupted`. */
export type ModelPart =
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reasoning'; readonly delta: string }
  | { readonly type: 'finish'; readonly items: readonly ItemContent[]; readonly reason: FinishReason; readonly usage: TokenUsage; readonly requestId: string | null }
  | ModelFailure;

/**
 * A failed call that the adapter understood. `limited` and `unavailable` and `interrupted` may be tried again (after `retryAfterMs` where the
 * provider named it); `rejected` (bad request, unknown model), `unauthorized` and `too-long` may not. `cause` is for the sealed error record only.
 */
export type ModelFailure = {
  readonly type: 'failure';
  readonly kind: 'limited' | 'unavailable' | 'interrupted' | 'rejected' | 'unauthorized' | 'too-long';
  readonly retryAfterMs: number | null;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly usage: TokenUsage | null;
  readonly cause: unknown;
};

/** One language model, ready to be called. One call is one provider request: no hidden retries, no tool execution. */
export interface Model {
  readonly provider: string;
  readonly id: string;
  /** Tokens that the model can read at once; `null` when unknown. */
  readonly contextWindow: number | null;
  /** Streams one step. Aborting `signal` closes the provider's connection; the iterator then ends with an `interrupted` failure. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>;
}

export const callsOf = (items: readonly ItemContent[]): readonly FunctionCall[] => items.filter((item): item is FunctionCall => item.type === 'function_call');
