import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { TenantContext } from '@domain/tenancy.js';
import type { LogEntry, LogKind, LogRow } from './log-kind.js';

/** A place in one log. Whoever asks has checked the reader's rights. */
export type PageRequest = {
  readonly context: TenantContext & { readonly projectId: string };
  readonly logId: string;
  readonly after: number;
  readonly limit: number;
  /** Of the history in which the cursor was found to be one; without it, of the one that the pages were of when it was asked for. */
  readonly timeline?: string | null;
};
/** `more`: the page is full, so that more may be stored already. */
export type EventPage<E> = { readonly events: readonly E[]; readonly more: boolean };

/** What one query is asked: one entry for each page. */
export type PageQuery = { readonly id: string; readonly organization: string; readonly project: string; readonly after: number; readonly limit: number; readonly bytes: number };
/** `timeline`: which history of the database the rows are of, as far as it can be told. */
export type ReadRows<Row> = (queries: readonly PageQuery[]) => Promise<{ readonly timeline: string | null; readonly rows: readonly Row[] }>;

/** The stored log cannot be opened: changed data or a missing key. Trying again does not help. */
export class UnreadableLog extends Error {}

/** The database goes on from another history: what was read before may not be in it, and only a reader that comes back can be told where it stands. */
export class TimelineChanged extends Error {}

/** Two queries are at least this far apart: at most a hundred in a second, however many readers there are. */
const minIntervalMs = 10;
const maxPagesPerQuery = 500;
/** Of sealed bodies. A single larger event is a page of its own. */
export const maxPageBytes = 262_144;
/** Opening events is work for the processor: other requests get their turn in between. */
const openedPerTurn = 100;

type Waiting<E> = {
  readonly request: PageRequest;
  readonly timeline: string | null;
  readonly promise: Promise<EventPage<E>>;
  resolve(page: EventPage<E>): void;
  reject(error: unknown): void;
};

/** Every read of one kind of log in this process: what is asked for while one query runs goes out together in the next. The same page is read once for all who ask. */
export class EventPages<Row extends LogRow, E extends LogEntry> {
  private waiting = new Map<string, Waiting<E>>();
  private running = false;
  /** Since the start, for whoever measures. */
  queries = 0;
  private lastQuery = -minIntervalMs;
  /** Of the last page that could tell. */
  timeline: string | null = null;

  /** `moved` is told of another timeline before anybody gets a page of it: every cursor that followed the one before may be ahead. */
  constructor(
    private readonly readRows: ReadRows<Row>,
    private readonly kind: LogKind<Row, E>,
    private readonly moved: (error: TimelineChanged) => void,
  ) {}

  /** Never answers from a query that had begun before: what is committed now is in the page. */
  page(request: PageRequest): Promise<EventPage<E>> {
    const timeline = request.timeline ?? this.timeline;
    const key = `${logKey(toQuery(request))}:${request.after}:${request.limit}:${timeline}`;
    const same = this.waiting.get(key);
    if (same) return same.promise;
    const settle: Partial<Waiting<E>> = {};
    const promise = new Promise<EventPage<E>>((resolve, reject) => Object.assign(settle, { resolve, reject }));
    this.waiting.set(key, { request, timeline, promise, ...(settle as Pick<Waiting<E>, 'resolve' | 'reject'>) });
    if (!this.running) void this.run();
    return promise;
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.size > 0) {
      await this.untilDue();
      this.lastQuery = performance.now();
      this.queries += 1;
      const batch = [...this.waiting].slice(0, maxPagesPerQuery);
      for (const [key] of batch) this.waiting.delete(key);
      await this.read(batch.map(([, waiting]) => waiting));
    }
    this.running = false;
  }

  /** At least one turn of the loop: all who heard the same hint ask in it. A timer counts whole milliseconds and may fire a little early. */
  private async untilDue(): Promise<void> {
    await nextTurn();
    for (;;) {
      const earlyMs = this.lastQuery + minIntervalMs - performance.now();
      if (earlyMs <= 0) return;
      await pause(earlyMs);
    }
  }

  private async read(batch: readonly Waiting<E>[]): Promise<void> {
    try {
      const { timeline, rows } = await this.readRows(batch.map(({ request }) => toQuery(request)));
      this.follow(timeline);
      const logs = new Map<string, Map<number, Row>>();
      for (const row of rows) {
        const key = logKey({ organization: row.organization_id, project: row.project_id, id: this.kind.idOf(row) });
        logs.set(key, (logs.get(key) ?? new Map<number, Row>()).set(row.sequence, row));
      }
      const opened = new Map<Row, E>();
      for (const waiting of batch) {
        if (isOther(waiting.timeline, timeline)) waiting.reject(changed());
        else await this.answer(waiting, logs.get(logKey(toQuery(waiting.request))), opened);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private follow(timeline: string | null): void {
    const hasMoved = isOther(this.timeline, timeline);
    this.timeline = timeline ?? this.timeline;
    if (hasMoved) this.moved(changed());
  }

  /** Pages of one log may overlap, and come back as one list of rows: each takes what follows its own cursor without a gap. */
  private async answer({ request, resolve, reject }: Waiting<E>, log: ReadonlyMap<number, Row> | undefined, opened: Map<Row, E>): Promise<void> {
    if (!log) {
      resolve({ events: [], more: false });
      return;
    }
    try {
      const open = await this.kind.openerOf(request.context.organizationId);
      const events: E[] = [];
      let bytes = 0;
      for (let row = log.get(request.after + 1); row && events.length < request.limit && bytes < maxPageBytes; row = log.get(row.sequence + 1)) {
        const known = opened.get(row);
        const event = known ?? orUnreadable(() => open(row as Row), request.logId);
        if (!known && opened.set(row, event).size % openedPerTurn === 0) await nextTurn();
        events.push(event);
        bytes += this.kind.bytesOf(row);
      }
      resolve({ events, more: events.length === request.limit || bytes >= maxPageBytes });
    } catch (error) {
      reject(error);
    }
  }
}

/** Where nobody can tell, nothing has changed. */
export const isOther = (one: string | null, another: string | null): boolean => one !== null && another !== null && one !== another;

const changed = (): TimelineChanged => new TimelineChanged('the database is on another timeline');

/** With the tenant: one who asks in another tenant gets nothing of what the owner asked for in the same query. */
const logKey = ({ organization, project, id }: Pick<PageQuery, 'organization' | 'project' | 'id'>): string => `${organization}:${project}:${id}`;

const toQuery = ({ context, logId, after, limit }: PageRequest): PageQuery => ({
  id: logId,
  organization: context.organizationId,
  project: context.projectId,
  after,
  limit,
  bytes: maxPageBytes,
});

function orUnreadable<E>(open: () => E, logId: string): E {
  try {
    return open();
  } catch (cause) {
    throw new UnreadableLog(`the log of ${logId} cannot be opened`, { cause });
  }
}
