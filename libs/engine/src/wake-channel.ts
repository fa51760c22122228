/** These executions may have changed. `all`: hints were lost, or may have been, so that anything may have. */
export type Hint = readonly string[] | 'all';

/**
 * Hints that something about these executions changed: one may be ready, cancelled, or have new events. A hint carries ids only, may come late,
 * twice or never, and means nothing by itself: whoever gets one looks at the database. With every hint lost, polling finds all work.
 */
export abstract class WakeChannel {
  /** Since the start of the process, for whoever measures: ids told to other nodes and heard from them. */
  readonly traffic = { sent: 0, received: 0 };

  /** Whether the way to the other nodes is open; `null` where there is none. */
  get isOpen(): boolean | null {
    return null;
  }

  /** After the commit, never inside it. Returns at once; own listeners hear it in this process without the database. */
  abstract publish(executionIds: readonly string[]): void;
  /** For who runs or reads executions: every process hears. Listeners return at once as well. Answers the way to stop listening. */
  abstract subscribe(listener: (hint: Hint) => void): () => void;

  /**
   * For who claims work. The listener answers whether its process sees to it: a channel that can tell one process alone asks the next one only
   * where the answer is no. A channel that cannot tells everybody, and needs no answer.
   */
  offerTo(worker: (hint: Hint) => boolean): () => void {
    return this.subscribe((hint) => void worker(hint));
  }
}
