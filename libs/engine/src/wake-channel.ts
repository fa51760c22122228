/** These executions may have changed. `all`: hints were lost, or may have been, so that anything may have. */
export type Hint = readonly string[] | 'all';

/**
 * Hints that something about these executions changed: one may be ready, cancelled, or have new events. A hint carries ids only, may come late,
 * twice or never, and means nothing by itself: whoever gets one looks at the database. With every hint lost, polling finds all work.
 */
export abstract class WakeChannel {
  /** After the commit, never inside it. Returns at once; own listeners hear it in this process without the database. */
  abstract publish(executionIds: readonly string[]): void;
  /** Listeners return at once as well. Answers the way to stop listening. */
  abstract subscribe(listener: (hint: Hint) => void): () => void;
}
