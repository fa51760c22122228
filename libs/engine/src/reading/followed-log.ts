import { setTimeout as pause } from 'node:timers/promises';
import { UnreadableLog, type EventPage } from './event-pages.js';
import type { LogEntry } from './log-kind.js';
import { LogWindow, type WindowLimits } from './log-window.js';
import type { Reader } from './reader.js';

/** How long it rests after a read that failed: all logs ask again together. */
const retryMs = 250;

/** A log that somebody reads to its end: its newest events, and the one read that follows its head. */
export class FollowedLog<E extends LogEntry> {
  readonly readers = new Set<Reader>();
  readonly window: LogWindow<E>;
  private changed = false;
  private looking = false;

  /** `readAfter` reads what is stored after a sequence; `advanced` gets the readers that have something to read. */
  constructor(
    readonly id: string,
    head: number,
    limits: WindowLimits,
    private readonly readAfter: (after: number) => Promise<EventPage<E>>,
    private readonly advanced: (readers: Iterable<Reader>) => void,
  ) {
    this.window = new LogWindow(head, limits);
  }

  /** Something may have been committed. While a read is on its way, one more follows it: the running one may have begun too early. */
  look(): void {
    this.changed = true;
    if (!this.looking) void this.follow();
  }

  endAll(error: Error | null = null): void {
    for (const reader of this.readers) reader.end(error);
  }

  private async follow(): Promise<void> {
    this.looking = true;
    while (this.changed && this.readers.size > 0) {
      this.changed = false;
      try {
        const { events, more } = await this.readAfter(this.window.head);
        if (events.length > 0) {
          this.window.append(events);
          this.advanced(this.readers);
        }
        this.changed ||= more;
      } catch (error) {
        if (error instanceof UnreadableLog) this.endAll(error);
        else {
          this.changed = true;
          await pause(retryMs, undefined, { ref: false });
        }
      }
    }
    this.looking = false;
  }
}
