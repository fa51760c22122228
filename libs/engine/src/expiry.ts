import { setTimeout as delay } from 'node:timers/promises';

/** A clock of the database that was set, and a parent that went on, are noticed after so long at the latest. */
const lookAgainMs = 60_000;
const askAgainMs = 500;

/** The deadline of the work has passed, or its time budget is used up. */
export class DeadlineExceeded extends Error {}

/**
 * Resolves once the time of owned work is over, or its owner has no more to do with it. A timer of this process only says when to ask: whether the time
 * is over is said by the database, where a parent that stands, or a clock that was set, has moved it. `timeLeft` in milliseconds; `null`: no limit.
 */
export async function watchExpiry(leftMs: number, timeLeft: () => Promise<number | null>, signal: AbortSignal): Promise<'over' | 'left'> {
  let left: number | null = leftMs;
  while (left !== null && left > 0) {
    await delay(Math.min(Math.max(1, left), lookAgainMs), undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return 'left';
    // A database that is away says nothing: what runs goes on until it answers.
    left = await timeLeft().catch(() => askAgainMs);
  }
  return left === null || signal.aborted ? 'left' : 'over';
}
