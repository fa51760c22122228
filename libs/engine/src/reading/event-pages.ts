import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { TenantContext } from '@domain/tenancy.js';
import type { EventRow } from '../events.js';
import type { Sealing } from '../sealing.js';
import { toReadEvent, type ReadEvent } from './read-event.js';

/** A place in one log. Whoever asks has checked the reader's rights. */
export type PageRequest = {
  readonly context: TenantContext & { readonly projectId: string };
  readonly executionId: string;
  readonly after: number;
  readonly limit: number;
};
/** `more`: the page is full, so that more may be stored already. */
export type EventPage = { readonly events: readonly ReadEvent[]; readonly more: boolean };

/** What `read_events` is asked: one entry for each page. */
export type PageQuery = { readonly id: string; readonly organization: string; readonly project: string; readonly after: number; readonly limit: number; readonly bytes: number };
export type TenantEventRow = EventRow & { readonly organization_id: string; readonly project_id: string };
export type ReadRows = (queries: readonly PageQuery[]) => Promise<readonly TenantEventRow[]>;

/** The stored log cannot be opened: changed data or a missing key. Trying again does not help. */
export class UnreadableLog extends Error {}

/** Two queries are at least this far apart: at most a hundred in a second, however many readers there are. */
const minIntervalMs = 10;
const maxPagesPerQuery = 500;
/** Of sealed bodies. A single larger event is a page of its own. */
export const maxPageBytes = 262_144;
/** Opening events is work for the processor: other requests get their turn in between. */
const openedPerTurn = 100;

type Waiting = { readonly request: PageRequest; readonly promise: Promise<EventPage>; resolve(page: EventPage): void; reject(error: unknown): void };

/** Every read of event logs in this process: what is asked for while one query runs goes out together in the next. The same page is read once for all who ask. */
export class EventPages {
  private waiting = new Map<string, Waiting>();
  private running = false;
  private lastQuery = -minIntervalMs;

  constructor(
    private readonly readRows: ReadRows,
    private readonly sealing: Sealing,
  ) {}

  /** Never answers from a query that had begun before: what is committed now is in the page. */
  page(request: PageRequest): Promise<EventPage> {
    const key = `${logKey(toQuery(request))}:${request.after}:${request.limit}`;
    const same = this.waiting.get(key);
    if (same) return same.promise;
    const settle: Partial<Waiting> = {};
    const promise = new Promise<EventPage>((resolve, reject) => Object.assign(settle, { resolve, reject }));
    this.waiting.set(key, { request, promise, ...(settle as Pick<Waiting, 'resolve' | 'reject'>) });
    if (!this.running) void this.run();
    return promise;
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.size > 0) {
      await this.untilDue();
      this.lastQuery = performance.now();
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

  private async read(batch: readonly Waiting[]): Promise<void> {
    try {
      const rows = await this.readRows(batch.map(({ request }) => toQuery(request)));
      const logs = new Map<string, Map<number, EventRow>>();
      for (const row of rows) {
        const key = logKey({ organization: row.organization_id, project: row.project_id, id: row.execution_id });
        logs.set(key, (logs.get(key) ?? new Map<number, EventRow>()).set(row.sequence, row));
      }
      const opened = new Map<EventRow, ReadEvent>();
      for (const waiting of batch) await this.answer(waiting, logs.get(logKey(toQuery(waiting.request))), opened);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** Pages of one log may overlap, and come back as one list of rows: each takes what follows its own cursor without a gap. */
  private async answer({ request, resolve, reject }: Waiting, log: ReadonlyMap<number, EventRow> | undefined, opened: Map<EventRow, ReadEvent>): Promise<void> {
    if (!log) {
      resolve({ events: [], more: false });
      return;
    }
    try {
      const key = await this.sealing.keyOf(request.context.organizationId);
      const events: ReadEvent[] = [];
      let bytes = 0;
      for (let row = log.get(request.after + 1); row && events.length < request.limit && bytes < maxPageBytes; row = log.get(row.sequence + 1)) {
        const known = opened.get(row);
        const event = known ?? open(() => toReadEvent(key, row as EventRow), request.executionId);
        if (!known && opened.set(row, event).size % openedPerTurn === 0) await nextTurn();
        events.push(event);
        bytes += row.body?.length ?? 0;
      }
      resolve({ events, more: events.length === request.limit || bytes >= maxPageBytes });
    } catch (error) {
      reject(error);
    }
  }
}

/** With the tenant: one who asks in another tenant gets nothing of what the owner asked for in the same query. */
const logKey = ({ organization, project, id }: Pick<PageQuery, 'organization' | 'project' | 'id'>): string => `${organization}:${project}:${id}`;

const toQuery = ({ context, executionId, after, limit }: PageRequest): PageQuery => ({
  id: executionId,
  organization: context.organizationId,
  project: context.projectId,
  after,
  limit,
  bytes: maxPageBytes,
});

function open(read: () => ReadEvent, executionId: string): ReadEvent {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableLog(`the log of ${executionId} cannot be opened`, { cause });
  }
}
