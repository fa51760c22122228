import { setTimeout as pause } from 'node:timers/promises';
import type { Hint } from '@engine/wake-channel.js';

/** The time between two sendings: what is published meanwhile goes out together. */
const flushMs = 10;
/** Beyond this, naming the ids costs more than looking at everything. */
const maxWaiting = 5_000;
/** How long a sending that failed rests, so that a fault is not a loop. */
const retryMs = 250;
/** A process that leaves waits this long for its last hints to be on their way. */
const leavingMs = 250;

/**
 * Hints on their way out of this process: one sending at a time, and each id once in it. What waits is bounded, whatever becomes of the other
 * side: more ids than can be named are "all".
 */
export class HintBuffer {
  private ids = new Set<string>();
  private all = false;
  private sending: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private dueAt = 0;
  private closed = false;

  /** `send` rejects when nobody knows whether the others heard; `isOpen` says whether sending makes sense now. */
  constructor(
    private readonly send: (hint: Hint) => Promise<void>,
    private readonly isOpen: () => boolean,
  ) {}

  /** How many ids wait. */
  get waiting(): number {
    return this.ids.size;
  }

  add(hint: Hint): void {
    if (hint === 'all') this.all = true;
    else for (const id of hint) this.ids.add(id);
    if (this.ids.size > maxWaiting) this.all = true;
    // Whoever looks at everything needs no names.
    if (this.all) this.ids.clear();
    this.schedule();
  }

  /** Called again when the way out has opened. */
  schedule(): void {
    if (this.closed || this.timer || this.sending || !this.isWaiting || !this.isOpen()) return;
    this.timer = setTimeout(() => this.flush(), Math.max(0, this.dueAt - performance.now()));
    this.timer.unref();
  }

  async close(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (this.isWaiting && !this.sending && this.isOpen()) this.flush();
    this.closed = true;
    if (this.sending) await Promise.race([this.sending, pause(leavingMs, undefined, { ref: false })]);
  }

  private get isWaiting(): boolean {
    return this.all || this.ids.size > 0;
  }

  private flush(): void {
    const hint: Hint = this.all ? 'all' : [...this.ids];
    this.timer = null;
    this.ids = new Set();
    this.all = false;
    this.dueAt = performance.now() + flushMs;
    this.sending = this.send(hint)
      .catch(() => {
        this.dueAt = performance.now() + retryMs * (0.5 + Math.random());
        // Told again: hearing twice is harmless.
        this.add(hint);
      })
      .finally(() => {
        this.sending = null;
        this.schedule();
      });
  }
}
