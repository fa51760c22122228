import type { SafeFailure } from '@domain/executions/failures.js';

/**
 * What an owner may do that finds a call marked as sending without a result: `repeatable` sends a new attempt, `keyed` repeats with the
 * same provider key, `unproven` never resends: the call is unknown and the execution waits in `outcome_unknown` for a decision.
 */
export type CallSafety = 'repeatable' | 'keyed' | 'unproven';

export type CallUsage = {
  readonly provider: string;
  readonly model: string;
  readonly source: string;
  readonly status: 'confirmed' | 'estimated' | 'unknown';
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
  /** The reservation's estimate, kept in its own column; `null` for none. */
  readonly estimatedInputTokens: number | null;
};

export type CallSpec<T> = {
  readonly step: number;
  /** Unique within the step: `model`, or `tool:<position>`. */
  readonly name: string;
  readonly kind: string;
  readonly safety: CallSafety;
  /** Sealed with the call; ids, not contents, where a record already holds them. */
  readonly input?: unknown;
  /** Reads usage out of a result; settled once per call, also when the result comes late. */
  readonly usage?: (result: T) => CallUsage;
  /** The usage row of an attempt whose result was lost: status `unknown` with its estimate. */
  readonly lostUsage?: CallUsage;
  /** What of the result the log keeps; default: all of it. A feature that saves the result itself in the same commit keeps less. */
  readonly keep?: (result: T) => unknown;
  /** The latest attempt whose failed result the feature has already dealt with; a later one that is saved is returned without a send. Default 0. */
  readonly consumed?: number;
  /** The attempt is over without success, but the provider proved that nothing happened: the call is `failed`, not `unknown`. */
  readonly failed?: (result: T) => boolean;
};

/** What the sender needs: the attempt that it is, the key to repeat with, and the gate's signal. */
export type SendContext = { readonly attempt: number; readonly providerKey: string; readonly signal: AbortSignal };

/** `replayed`: the saved result of an earlier owner; nothing was sent now. `stopped`: a decision said that the call ends without a result. */
export type CallOutcome<T> =
  | { readonly kind: 'result'; readonly result: T; readonly attempt: number; readonly replayed: boolean }
  | { readonly kind: 'failed'; readonly failure: SafeFailure; readonly attempt: number }
  | { readonly kind: 'stopped'; readonly attempt: number };
