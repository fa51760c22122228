import type { CallSafety } from './calls.js';

/** How long an owner that lost its work waits for the answer of a send that may not be repeated. */
const lastPatienceMs = 60_000;

export type SendSignal = { readonly signal: AbortSignal; close(): void };

/**
 * What ends a send: the gate of its owner, and the call's own time. Where the work is lost, a call that cannot simply be repeated goes on to its
 * answer all the same: its bytes are outside, and whoever waits for a decision about them is better served by the result.
 */
export function openSend(gate: AbortSignal, safety: CallSafety, timeoutMs: number | undefined): SendSignal {
  const sending = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  const abortAfter = (ms: number, why: string): void => void timers.push(setTimeout(() => sending.abort(new Error(why)), ms).unref());
  const onGate = (): void => {
    if (gate.reason === 'lost' && safety !== 'repeatable') abortAfter(lastPatienceMs, 'the owner of the call lost its work');
    else sending.abort(gate.reason);
  };
  if (timeoutMs !== undefined) abortAfter(timeoutMs, 'the call took longer than its time');
  gate.addEventListener('abort', onGate, { once: true });
  if (gate.aborted) onGate();
  return {
    signal: sending.signal,
    close: () => {
      for (const timer of timers) clearTimeout(timer);
      gate.removeEventListener('abort', onGate);
    },
  };
}
