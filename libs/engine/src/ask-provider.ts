import { setTimeout as delay } from 'node:timers/promises';
import type { CallSpec, Reconciled, SendContext } from './calls.js';

const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** 100 ms, doubled each time, five seconds at most. */
export const pauseMs = (time: number): number => Math.min(firstPauseMs * 2 ** (time - 1), longestPauseMs);

/**
 * Asks the provider what became of a call. A question that fails says nothing about the call: it is asked again, ever later, until the gate closes.
 * `onFailure` hears of the first failure alone.
 */
export async function askProvider<T>(spec: CallSpec<T>, context: SendContext, onFailure: (cause: unknown) => void): Promise<Reconciled<T>> {
  if (!spec.reconcile) throw new Error(`call ${spec.name} cannot ask its provider`);
  for (let time = 1; ; time += 1) {
    context.signal.throwIfAborted();
    try {
      return await spec.reconcile(context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (time === 1) onFailure(error);
      await delay(pauseMs(time), undefined, { signal: context.signal });
    }
  }
}
