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

/** Wakes many readers a few at a time: hundreds that write to their sockets at once would keep every other request waiting. */
export class FairWakeUps {
  private queue: Reader[] = [];
  private next = 0;
  private scheduled = false;

  add(readers: Iterable<Reader>): void {
    for (const reader of readers) this.queue.push(reader);
    if (!this.scheduled && this.queue.length > 0) this.schedule();
  }

  private schedule(): void {
    this.scheduled = true;
    setImmediate(() => {
      const end = Math.min(this.next + perTurn, this.queue.length);
      for (; this.next < end; this.next += 1) this.queue[this.next]?.wake();
      if (this.next < this.queue.length) this.schedule();
      else {
        this.queue = [];
        this.next = 0;
        this.scheduled = false;
      }
    });
  }
}
