import type { WakeChannel } from '../wake-channel.js';
import type { Sealing } from '../sealing.js';
import { EventPages, type EventPage, type PageRequest, type ReadRows } from './event-pages.js';
import { FollowedLog } from './followed-log.js';
import type { LogEntry, LogKind, LogRow } from './log-kind.js';
import { executionLogs, type ReadEvent, type TenantEventRow } from './read-event.js';
import { FairWakeUps, Reader } from './reader.js';

export type Observation = {
  readonly context: PageRequest['context'];
  readonly logId: string;
  /** Entries after this sequence; it is not ahead of `head`. */
  readonly afterSequence: number;
  /** As it was read together with the reader's rights, before this call; `timeline`: of which history of the database, as far as it can be told. */
  readonly head: { readonly sequence: number; readonly ended: boolean; readonly timeline?: string | null };
  /** Ends the observation, and nothing else. */
  readonly signal: AbortSignal;
  /** Whether the reader may still see the log: asked at most every five seconds. `false` ends the observation. */
  readonly recheck?: () => Promise<boolean>;
};

export type HubSettings = { readonly sweepMs: number; readonly recheckMs: number; readonly windowEvents: number; readonly windowBytes: number; readonly totalBytes: number };
const defaults: HubSettings = { sweepMs: 1_000, recheckMs: 2_500, windowEvents: 200, windowBytes: 262_144, totalBytes: 67_108_864 };
const pageLimit = 100;

/**
 * Serves every reader of one kind of log in this process. Hints say what to look at; a sweep looks at everything that is followed, so that a
 * lost hint costs latency and never an event. An open observation holds neither a connection nor a buffer of its own.
 */
export class LogHub<Row extends LogRow, E extends LogEntry> {
  private readonly pages: EventPages<Row, E>;
  private readonly logs = new Map<string, FollowedLog<E>>();
  private readonly wakeUps = new FairWakeUps();
  private readonly settings: HubSettings;
  private readonly stopListening: () => void;
  private readonly sweep: NodeJS.Timeout;
  private closed = false;

  constructor(
    readRows: ReadRows<Row>,
    private readonly kind: LogKind<Row, E>,
    wake: WakeChannel,
    settings: Partial<HubSettings> = {},
  ) {
    this.settings = { ...defaults, ...settings };
    this.pages = new EventPages(readRows, kind, (error) => this.endFollowed(error));
    this.stopListening = wake.subscribe((hint) => {
      const changed = hint === 'all' ? this.logs.values() : hint.map((id) => this.logs.get(id));
      for (const log of changed) log?.look();
    });
    this.sweep = setInterval(() => this.lookAtAll(), this.settings.sweepMs);
    this.sweep.unref();
  }

  /** For whoever measures: open readers, the logs that they follow, and the queries since the start. */
  get figures(): { readonly readers: number; readonly logs: number; readonly queries: number } {
    let readers = 0;
    for (const log of this.logs.values()) readers += log.readers.size;
    return { readers, logs: this.logs.size, queries: this.pages.queries };
  }

  /** One page of a log: what is stored now. */
  readPage(request: PageRequest): Promise<EventPage<E>> {
    return this.pages.page(request);
  }

  /** Event by event: as `observeBatches`. */
  async *observe(observation: Observation): AsyncGenerator<E, void, undefined> {
    for await (const batch of this.observeBatches(observation)) yield* batch;
  }

  /**
   * What is stored after the cursor and then what is committed, in order and without a gap, as many events at a time as are there. Ends after the
   * event of the end state; also when the signal aborts, the right is lost or the hub closes: the cursor then says where to go on.
   */
  async *observeBatches(observation: Observation): AsyncGenerator<readonly E[], void, undefined> {
    const { afterSequence, head, signal, recheck } = observation;
    const reader = new Reader(recheck ?? null);
    const end = (): void => reader.end();
    if (signal.aborted || this.closed) return;
    signal.addEventListener('abort', end, { once: true });
    let log: FollowedLog<E> | null = null;
    try {
      if (!this.isOfPages(head)) await reader.orEnd(this.agree(observation));
      if (this.closed) return;
      log = this.follow(observation, reader);
      let cursor = afterSequence;
      // Work that had ended is read up to its head: an event after the end state must not keep its readers waiting for more.
      while (!reader.ended && !(head.ended && cursor >= head.sequence)) {
        const batch = await this.next(observation, log, reader, cursor);
        const last = batch?.at(-1);
        if (!batch || !last) break;
        const ending = batch.findIndex((entry) => this.kind.ends(entry));
        yield ending < 0 ? batch : batch.slice(0, ending + 1);
        if (ending >= 0) break;
        cursor = last.sequence;
      }
      reader.throwFailure();
    } finally {
      signal.removeEventListener('abort', end);
      this.leave(log, reader);
    }
  }

  /**
   * Logs are followed in one history of the database. A head of another one than the last page was of has been read before a failover or after it, and only
   * the database says which: this page ends who followed the lost history, or refuses this reader.
   */
  private agree({ context, logId, afterSequence, head }: Observation): Promise<EventPage<E>> {
    return this.pages.page({ context, logId, after: afterSequence, limit: 1, timeline: head.timeline ?? null });
  }

  private isOfPages({ timeline = null }: Observation['head']): boolean {
    return timeline === null || timeline === this.pages.timeline;
  }

  /** Ends every observation; clients come back to another node with their cursors. */
  close(): void {
    this.closed = true;
    clearInterval(this.sweep);
    this.stopListening();
    for (const log of this.logs.values()) log.endAll();
  }

  /** Readers may hold events that are in no log any more: each comes back with its cursor, and is told where the log stands. */
  private endFollowed(error: Error): void {
    const logs = [...this.logs.values()];
    this.logs.clear();
    for (const log of logs) log.endAll(error);
  }

  /** Nest closes the server after this, and would wait for open streams. */
  beforeApplicationShutdown(): void {
    this.close();
  }

  /** `null` or nothing: the reader has ended, or the stored log is not there any more. */
  private async next({ context, logId }: Observation, log: FollowedLog<E>, reader: Reader, cursor: number): Promise<readonly E[] | null> {
    for (;;) {
      const recent = log.window.after(cursor, pageLimit);
      if (recent === null) {
        const page = await reader.orEnd(this.pages.page({ context, logId, after: cursor, limit: pageLimit }));
        if (page) log.window.remember(page.events);
        return page?.events ?? null;
      }
      if (recent.length > 0 || reader.ended) return recent;
      await reader.sleep();
    }
  }

  private follow({ context, logId, head }: Observation, reader: Reader): FollowedLog<E> {
    let log = this.logs.get(logId);
    if (!log) {
      const { windowEvents, windowBytes } = this.settings;
      const readAfter = (after: number): Promise<EventPage<E>> => this.pages.page({ context, logId, after, limit: pageLimit });
      log = new FollowedLog(logId, head.sequence, { events: windowEvents, bytes: windowBytes }, readAfter, (readers) => this.wakeUps.add(readers));
      this.logs.set(logId, log);
    }
    log.readers.add(reader);
    // What was committed between the look at the head and this moment gave its hint to nobody.
    if (!head.ended) log.look();
    return log;
  }

  private leave(log: FollowedLog<E> | null, reader: Reader): void {
    reader.end();
    log?.readers.delete(reader);
    if (log?.readers.size === 0 && this.logs.get(log.id) === log) this.logs.delete(log.id);
  }

  private lookAtAll(): void {
    const dueBefore = performance.now() - this.settings.recheckMs;
    for (const log of this.logs.values()) {
      log.look();
      for (const reader of log.readers) if (reader.recheck && reader.checkedAt <= dueBefore) void this.recheck(reader, reader.recheck);
    }
    this.keepWithinMemory();
  }

  /** The logs that were followed first give their windows back first; their readers page until new events come. */
  private keepWithinMemory(): void {
    let total = 0;
    for (const { window } of this.logs.values()) total += window.bytes;
    for (const { window } of this.logs.values()) {
      if (total <= this.settings.totalBytes) return;
      total -= window.bytes;
      window.forget();
    }
  }

  /** A question that fails is asked again by the next sweep: a database that is down shows nothing to anybody. */
  private async recheck(reader: Reader, mayStill: () => Promise<boolean>): Promise<void> {
    const before = reader.checkedAt;
    reader.checkedAt = performance.now();
    try {
      if (!(await mayStill())) reader.end();
    } catch {
      reader.checkedAt = before;
    }
  }
}

/** The hub of the executions' logs. */
export class EventHub extends LogHub<TenantEventRow, ReadEvent> {
  constructor(readRows: ReadRows<TenantEventRow>, sealing: Sealing, wake: WakeChannel, settings: Partial<HubSettings> = {}) {
    super(readRows, executionLogs(sealing), wake, settings);
  }
}
