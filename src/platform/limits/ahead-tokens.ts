import type { DataSource } from 'typeorm';
import { takeAhead, type Policy, type Taken } from './take-from.js';

/** For so long tokens that were taken ahead may be used. */
const aheadMs = 1_000;
/** A node holds at most this share of a limit, so that no other node starves for what this one may not need. */
const largestShare = 1 / 20;
/** Of what came within the last second: a caller at a steady pace costs about four statements a second, however fast, and one who stops loses little. */
const aheadOfPace = 1 / 4;
const leastSweep = 1_000;

type Held = {
  tokens: number;
  until: number;
  /** Nobody is let through before that instant: tokens come back with time alone, and others only take. */
  refusedUntil: number;
  /** What was left in the bucket at the last take, and when it is full. */
  remaining: number;
  fullAt: number;
  /** Requests within the last second, fading. */
  pace: number;
  lastAt: number;
  waiting: number;
  taking: Promise<boolean> | null;
};

/**
 * Takes from buckets for many requests with few statements: a busy caller's tokens are taken a few ahead, and a refusal is remembered until the bucket has a
 * token again. By what `takeAhead` promises, the limit of all nodes together is kept exactly; a caller who comes seldom gets all of it.
 */
export class AheadTokens {
  private readonly buckets = new Map<string, Held>();
  private sweepAt = leastSweep;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(
    private readonly db: DataSource,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Callers that it remembers. */
  get size(): number {
    return this.buckets.size;
  }

  /** One token. Rejects where one must be taken and the database does not answer: that is no refusal, and no permission. */
  async take(bucket: Buffer, policy: Policy): Promise<Taken> {
    const held = this.heldOf(bucket);
    const at = this.now();
    held.pace = held.pace * Math.exp((held.lastAt - at) / 1_000) + 1;
    held.lastAt = at;
    for (;;) {
      const now = this.now();
      if (held.tokens > 0 && now >= held.until) held.tokens = 0;
      if (held.tokens > 0) {
        held.tokens -= 1;
        return this.answer(held, now, true);
      }
      if (now < held.refusedUntil) return this.answer(held, now, false);
      if (held.taking) await this.wait(held, held.taking);
      else if (await this.takeMore(held, bucket, policy)) return this.answer(held, this.now(), true);
    }
  }

  private async wait(held: Held, taking: Promise<boolean>): Promise<void> {
    held.waiting += 1;
    try {
      await taking;
    } finally {
      held.waiting -= 1;
    }
  }

  /** Whether whoever asks may pass; what came with it is for others. */
  private takeMore(held: Held, bucket: Buffer, policy: Policy): Promise<boolean> {
    const sentAt = this.now();
    const wanted = Math.max(held.waiting, Math.floor(held.pace * aheadOfPace));
    const ahead = Math.min(wanted, Math.floor(policy.limit * largestShare));
    const taking = takeAhead(this.db, { bucket, policy, cost: 1, ahead, aheadMs }).then(({ granted, remaining, resetMs, retryAfterMs }) => {
      held.remaining = remaining;
      held.fullAt = this.now() + resetMs;
      // From before it was asked for: whatever the answer took, the database counts from later on.
      held.until = sentAt + aheadMs;
      held.tokens = Math.max(0, granted - 1);
      held.refusedUntil = granted > 0 ? 0 : sentAt + retryAfterMs;
      return granted > 0;
    });
    const over = taking.finally(() => (held.taking = null));
    held.taking = over;
    return over;
  }

  private answer(held: Held, now: number, allowed: boolean): Taken {
    return {
      allowed,
      remaining: held.remaining + held.tokens,
      resetMs: Math.max(0, Math.ceil(held.fullAt - now)),
      retryAfterMs: allowed ? 0 : Math.max(1, Math.ceil(held.refusedUntil - now)),
    };
  }

  private heldOf(bucket: Buffer): Held {
    const name = bucket.toString('latin1');
    const known = this.buckets.get(name);
    if (known) return known;
    if (this.buckets.size >= this.sweepAt) this.sweep();
    const held: Held = { tokens: 0, until: 0, refusedUntil: 0, remaining: 0, fullAt: 0, pace: 0, lastAt: this.now(), waiting: 0, taking: null };
    this.buckets.set(name, held);
    return held;
  }

  /** What is full again and waited for by nobody is as good as unknown. */
  private sweep(): void {
    const now = this.now();
    for (const [name, { fullAt, until, taking, waiting }] of this.buckets) if (fullAt <= now && until <= now && !taking && waiting === 0) this.buckets.delete(name);
    this.sweepAt = Math.max(leastSweep, this.buckets.size * 2);
  }
}
