/** Streams that ask within this time share one answer. */
const sharedForMs = 1_000;
/** Thousands of open streams may take longer to be asked for; they never take the pool from requests. */
const maxRunning = 2;

type Check = { readonly askedAt: number; readonly answer: Promise<boolean> };

/** Questions about rights that many open streams ask again and again: the same one is asked once a second, and few at a time. */
export class SharedChecks {
  private readonly checks = new Map<string, Check>();
  private readonly queue: (() => void)[] = [];
  private running = 0;

  check(key: string, ask: () => Promise<boolean>): Promise<boolean> {
    const known = this.checks.get(key);
    if (known && performance.now() - known.askedAt < sharedForMs) return known.answer;
    const check: Check = { askedAt: performance.now(), answer: this.inTurn(ask) };
    this.checks.set(key, check);
    const forget = (): void => {
      const timer = setTimeout(() => this.checks.get(key) === check && this.checks.delete(key), sharedForMs);
      timer.unref();
    };
    check.answer.then(forget, forget);
    return check.answer;
  }

  private async inTurn(ask: () => Promise<boolean>): Promise<boolean> {
    if (this.running >= maxRunning) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.running += 1;
    try {
      return await ask();
    } finally {
      // The place goes to the next in the queue, or is free.
      const next = this.queue.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
