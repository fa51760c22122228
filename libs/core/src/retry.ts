import type { ModelFailure } from './model.js';

export type RetryPolicy = {
  /** Attempts of one step, the first one included. */
  readonly maxAttempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A provider that asks for more patience than this ends the step. */
  readonly maxRetryAfterMs: number;
};

export const defaultRetries: RetryPolicy = { maxAttempts: 4, firstDelayMs: 500, maxDelayMs: 20_000, maxRetryAfterMs: 120_000 };

/** Kinds that say nothing about the request itself: the same request may succeed later. */
const temporary: ReadonlySet<ModelFailure['kind']> = new Set(['limited', 'unavailable', 'interrupted']);

/**
 * Milliseconds to wait before the next attempt, or `null` when there is none. Doubles with each attempt, spread over its upper half by
 * `random` (0 to 1) so that many clients do not return together, and is never shorter than what the provider asked for.
 */
export function retryDelayMs(failure: ModelFailure, attempt: number, random: number, policy: RetryPolicy = defaultRetries): number | null {
  if (!temporary.has(failure.kind) || attempt >= policy.maxAttempts) return null;
  const asked = failure.retryAfterMs ?? 0;
  if (asked > policy.maxRetryAfterMs) return null;
  const backoff = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.maxDelayMs);
  return Math.max(asked, Math.ceil(backoff * (0.5 + random / 2)));
}

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Resolves after `ms`, or as soon as `signal` aborts: the caller looks at the signal, not at an error. */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
  });
