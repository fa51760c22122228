import { FewAtOnce } from './few-at-once.js';

/** Streams that ask within this time share one answer. */
const sharedForMs = 1_000;

type Check = { readonly askedAt: number; readonly answer: Promise<boolean> };

/** Questions about rights that many open streams ask again and again: the same one is asked once a second, and few at a time. */
export class SharedChecks {
  private readonly checks = new Map<string, Check>();
  /** Thousands of open streams may take longer to be asked for; they never take the pool from requests. */
  private readonly asking = new FewAtOnce(2);

  check(key: string, ask: () => Promise<boolean>): Promise<boolean> {
    const known = this.checks.get(key);
    if (known && performance.now() - known.askedAt < sharedForMs) return known.answer;
    const check: Check = { askedAt: performance.now(), answer: this.asking.run(ask) };
    this.checks.set(key, check);
    const forget = (): void => {
      const timer = setTimeout(() => this.checks.get(key) === check && this.checks.delete(key), sharedForMs);
      timer.unref();
    };
    check.answer.then(forget, forget);
    return check.answer;
  }
}
