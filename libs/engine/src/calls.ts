import type { SafeFailure } from '@domain/executions/failures.js';

/**
 * What an owner may do that finds a call marked as sending without a result: `repeatable` sends a new attempt, `keyed` repeats with the
 * same provider key, `reconcilable` asks the provider by that key and then decides, `unproven` never resends: the call is unknown and the
 * execution waits in `outcome_unknown` for a decision.
 */
export type CallSafety = 'repeatable' | 'keyed' | 'reconcilable' | 'unproven';

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

/** What a provider says of a call's key. `not-done` is a statement: whoever does not know says `unknown`, and whoever cannot be asked throws. */
export type Reconciled<T> = { readonly kind: 'done'; readonly result: T } | { readonly kind: 'not-done' } | { readonly kind: 'unknown' };

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
  /** Of a `reconcilable` call: asks the provider what became of its key. A read: while it fails it is asked again, until the gate closes. */
  readonly reconcile?: (context: SendContext) => Promise<Reconciled<T>>;
  /**
   * What becomes of the call once its result is unknown, saved with it for every later owner: `ask` waits for a person's decision, `stop` ends it
   * without a result, `retry` sends it again, which the feature says is harmless. Default `ask`.
   */
  readonly onUnknown?: 'ask' | 'stop' | 'retry';
  /** How long a send may take: then its signal aborts. Default: a minute with a permit, else as long as the work. */
  readonly timeoutMs?: number;
  readonly permit?: CallPermit;
  readonly tokens?: CallTokens<T>;
};

/** A shared limit of the organization: at most `size` calls of its name are outside at once, over all nodes. A call waits for its place in order. */
export type CallPermit = { readonly limit: string; readonly size: number };

/** A shared bucket of the organization that fills up by the database's clock. `used` says of a result what the call took in truth; the rest goes back. */
export type CallTokens<T> = {
  readonly bucket: string;
  readonly amount: number;
  readonly capacity: number;
  readonly refillPerSecond: number;
  readonly used?: (result: T) => number;
};

/** What the sender needs: the attempt that it is, the key to repeat with, and the gate's signal. */
export type SendContext = { readonly attempt: number; readonly providerKey: string; readonly signal: AbortSignal };

/** Why a call was not let out: nothing was sent. */
export type GateRefusal = 'identity_revoked' | 'exceeds_bucket';

/**
 * `replayed`: the saved result of an earlier owner, or one that the provider was asked for; nothing was sent now. `stopped`: a decision said that the
 * call ends without a result. `not-passed`: the last gate did not let it out.
 */
export type CallOutcome<T> =
  | { readonly kind: 'result'; readonly result: T; readonly attempt: number; readonly replayed: boolean }
  | { readonly kind: 'failed'; readonly failure: SafeFailure; readonly attempt: number }
  | { readonly kind: 'stopped'; readonly attempt: number }
  | { readonly kind: 'not-passed'; readonly reason: GateRefusal; readonly attempt: number };
