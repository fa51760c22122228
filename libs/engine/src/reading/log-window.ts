import type { LogEntry } from './log-kind.js';

export type WindowLimits = { readonly events: number; readonly bytes: number };

/**
 * The newest events of one log, without a gap up to `head`. Readers have no buffers of their own: each has a cursor into this window, and one
 * whose next event has left it reads pages of the stored log instead.
 */
export class LogWindow<E extends LogEntry> {
  private events: E[] = [];
  private size = 0;

  /** `head`: the sequence up to which the log is known. */
  constructor(
    private knownTo: number,
    private readonly limits: WindowLimits,
  ) {}

  get head(): number {
    return this.knownTo;
  }

  get bytes(): number {
    return this.size;
  }

  /** What follows the cursor: nothing yet (`[]`), or `null` when it has left the window. */
  after(cursor: number, limit: number): readonly E[] | null {
    if (cursor >= this.knownTo) return [];
    const start = cursor - this.before();
    return start < 0 ? null : this.events.slice(start, start + limit);
  }

  /** The events that follow the head. The oldest leave, so that the limits hold. */
  append(events: readonly E[]): void {
    const next = events.filter(({ sequence }) => sequence > this.knownTo);
    if (next.length === 0) return;
    if (next[0]?.sequence !== this.knownTo + 1) throw new Error(`a log goes on at ${next[0]?.sequence} after ${this.knownTo}`);
    this.events.push(...next);
    this.knownTo += next.length;
    for (const { json } of next) this.size += json.length;
    let leaving = 0;
    while (leaving < this.events.length && (this.events.length - leaving > this.limits.events || this.size > this.limits.bytes)) {
      this.size -= this.events[leaving]?.json.length ?? 0;
      leaving += 1;
    }
    if (leaving > 0) this.events.splice(0, leaving);
  }

  /** A page that was read of the stored log: what of it joins the window, and has room, serves the next readers. */
  remember(page: readonly E[]): void {
    const joining = page.filter(({ sequence }) => sequence <= this.before());
    if (joining.at(-1)?.sequence !== this.before()) return;
    let from = joining.length;
    while (from > 0) {
      const length = joining[from - 1]?.json.length ?? 0;
      if (this.events.length + joining.length - from >= this.limits.events || this.size + length > this.limits.bytes) break;
      this.size += length;
      from -= 1;
    }
    this.events.unshift(...joining.slice(from));
  }

  /** Gives the memory back; the stored log has all of it. */
  forget(): void {
    this.events = [];
    this.size = 0;
  }

  /** The last sequence that is older than the window. */
  private before(): number {
    return this.knownTo - this.events.length;
  }
}
