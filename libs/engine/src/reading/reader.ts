/** One reader of a log that goes on: a cursor elsewhere, and a way to be woken or ended. It holds no events and no connection. */
export class Reader {
  private wakeUp: (() => void) | null = null;
  private endedBy: { readonly error: Error | null } | null = null;
  checkedAt = performance.now();

  /** `recheck`: whether the reader may still see the log. */
  constructor(readonly recheck: (() => Promise<boolean>) | null) {}

  get ended(): boolean {
    return this.endedBy !== null;
  }

  /** Throws what the reader was ended with, if anything. */
  throwFailure(): void {
    if (this.endedBy && this.endedBy.error !== null) throw this.endedBy.error;
  }

  wake(): void {
    this.wakeUp?.();
  }

  end(error: Error | null = null): void {
    this.endedBy ??= { error };
    this.wake();
  }

  /** Until it is woken. Whoever waits has looked at the log in the same turn of the loop. */
  async sleep(): Promise<void> {
    if (this.ended) return;
    await new Promise<void>((resolve) => (this.wakeUp = resolve));
    this.wakeUp = null;
  }

  /** The value, or `null` as soon as the reader ends: it does not wait for a database that nobody reads any more. */
  async orEnd<T>(value: Promise<T>): Promise<T | null> {
    if (this.ended) return null;
    // Not Promise.race with a promise of the end: that one would keep a reaction for each page of a long stream.
    const result = await new Promise<T | null>((resolve, reject) => {
      this.wakeUp = () => this.ended && resolve(null);
      value.then(resolve, reject);
    }).finally(() => (this.wakeUp = null));
    return this.ended ? null : result;
  }
}

const perTurn = 25;
/** Deliveries take a quarter of the time while many readers wait for theirs; what comes meanwhile goes out together. */
const restPerWork = 3;
const maxRestMs = 20;

/** Wakes many readers a few at a time: hundreds that write to their sockets at once would keep every other request waiting. */
export class FairWakeUps {
  private readonly queue = new Set<Reader>();
  private running = false;

  add(readers: Iterable<Reader>): void {
    for (const reader of readers) this.queue.add(reader);
    if (this.running || this.queue.size === 0) return;
    this.running = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    const began = performance.now();
    let woken = 0;
    for (const reader of this.queue) {
      if (woken === perTurn) break;
      this.queue.delete(reader);
      reader.wake();
      woken += 1;
    }
    // They write in microtasks, which are over by the next turn of the loop.
    setImmediate(() => {
      this.running = this.queue.size > 0;
      if (this.running) setTimeout(() => this.turn(), Math.min((performance.now() - began) * restPerWork, maxRestMs));
    });
  }
}
