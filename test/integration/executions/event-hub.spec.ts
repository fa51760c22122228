import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { EventHub, type HubSettings, type Observation } from '@engine/reading/event-hub.js';
import { TimelineChanged, UnreadableLog, type PageQuery, type ReadRows } from '@engine/reading/event-pages.js';
import type { ReadEvent, TenantEventRow } from '@engine/reading/read-event.js';
import { readRowsOf } from '@engine/reading/read-rows.js';
import { InProcessWake } from '@platform/wake/in-process-wake.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { newIdentity, StoredWork, text } from './stored-work.js';

const who = newIdentity();
let database: TestDatabase;
let work: StoredWork;
const hubs: EventHub[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  work = new StoredWork(database.api);
});
afterEach(() => hubs.splice(0).forEach((hub) => hub.close()));
afterAll(() => database.close());

/** A hub whose queries are counted; `wake` is the only source of hints. */
function openHub(settings: Partial<HubSettings> = {}, between: () => Promise<void> = async () => undefined) {
  const wake = new InProcessWake();
  const queries: (readonly PageQuery[])[] = [];
  const rows: ReadRows<TenantEventRow> = async (pages) => {
    queries.push(pages);
    await between();
    return readRowsOf(database.api)(pages);
  };
  const hub = new EventHub(rows, work.sealer, wake, settings);
  hubs.push(hub);
  return { hub, wake, queries };
}

async function observation(id: string, afterSequence: number, more: Partial<Observation> = {}): Promise<Observation> {
  return { context: who.context, logId: id, afterSequence, head: await work.head(who, id), signal: new AbortController().signal, ...more };
}

async function readAll(events: AsyncIterable<ReadEvent>): Promise<ReadEvent[]> {
  const all: ReadEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Takes what comes into a list, for looking at it while the observation goes on. */
function collect(events: AsyncIterable<ReadEvent>) {
  const seen: ReadEvent[] = [];
  const done = (async () => {
    for await (const event of events) seen.push(event);
  })();
  done.catch(() => undefined);
  return { seen, done };
}

const sequences = (events: readonly ReadEvent[]): number[] => events.map(({ sequence }) => sequence);
const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const deltas = (count: number, from = 1): ExecutionEventBody[] => Array.from({ length: count }, (_, index) => text(`${from + index} `));

test('a log that has ended is read from every cursor, and ends after its end state', async () => {
  const id = await work.admit(who);
  await work.append(who, id, ...deltas(3));
  const last = await work.end(who, id);
  // A result that comes late may leave an event behind the end.
  await work.append(who, id, { _tag: 'Usage', step: 1, attempt: 1, status: 'confirmed', inputTokens: 1, outputTokens: 1 });
  const { hub } = openHub();
  const all = await readAll(hub.observe(await observation(id, 0)));
  expect(sequences(all)).toEqual(upTo(last));
  expect(all.at(-1)?.body).toEqual({ _tag: 'State', state: 'completed' });
  for (const event of all) expect(JSON.parse(event.json)).toEqual({ sequence: event.sequence, at: event.at, body: event.body });
  for (let cursor = 0; cursor < last; cursor += 1) {
    const rest = await readAll(hub.observe(await observation(id, cursor)));
    expect(rest.map(({ json }) => json)).toEqual(all.slice(cursor).map(({ json }) => json));
  }
  expect(sequences(await readAll(hub.observe(await observation(id, last))))).toEqual([last + 1]);
  expect(await readAll(hub.observe(await observation(id, last + 1)))).toEqual([]);
});

test('what is committed later comes by a hint, and without any hint by the sweep', async () => {
  const id = await work.admit(who);
  const { hub, wake } = openHub({ sweepMs: 60_000 });
  const { hub: deaf } = openHub({ sweepMs: 50 });
  const [hinted, swept] = [collect(hub.observe(await observation(id, 0))), collect(deaf.observe(await observation(id, 0)))];
  for (let round = 1; round <= 5; round += 1) {
    const last = await work.append(who, id, ...deltas(3));
    wake.publish([id]);
    await eventually(() => hinted.seen.length === last && swept.seen.length === last);
  }
  const last = await work.end(who, id);
  wake.publish([id]);
  await Promise.all([hinted.done, swept.done]);
  expect(sequences(hinted.seen)).toEqual(upTo(last));
  expect(sequences(swept.seen)).toEqual(upTo(last));
});

test('one sweep looks at all logs that are followed in one query', async () => {
  const ids = await Promise.all(Array.from({ length: 30 }, () => work.admit(who)));
  const { hub, queries } = openHub({ sweepMs: 100 });
  const readers = await Promise.all(ids.map(async (id) => collect(hub.observe(await observation(id, 1)))));
  await eventually(() => queries.some((pages) => pages.length === 30));
  await Promise.all(ids.map((id) => work.end(who, id)));
  await Promise.all(readers.map(({ done }) => done));
  expect(readers.map(({ seen }) => sequences(seen))).toEqual(ids.map(() => [2]));
});

test('an event that is committed between the look at the head and the subscription is seen', async () => {
  const id = await work.admit(who);
  const { hub } = openHub({ sweepMs: 60_000 });
  const early = await observation(id, 1);
  await work.append(who, id, text('now'));
  const { seen } = collect(hub.observe(early));
  await eventually(() => seen.length === 1);
});

test('a hint that comes while a read is on its way is not lost', async () => {
  const id = await work.admit(who);
  let held: (() => void) | null = null;
  let hold = false;
  const { hub, wake, queries } = openHub({ sweepMs: 60_000 }, () => (hold ? new Promise<void>((resolve) => (held = resolve)) : Promise.resolve()));
  const { seen } = collect(hub.observe(await observation(id, 1)));
  await eventually(() => queries.length === 1);
  hold = true;
  wake.publish([id]);
  await eventually(() => held !== null);
  // The read that is held back has begun, as far as the hub can know, before this commit.
  await work.append(who, id, text('behind the read'));
  wake.publish([id]);
  hold = false;
  held!();
  await eventually(() => seen.length === 1);
  await eventually(() => queries.length === 3);
});

test('500 readers of one log share their queries and the opened events', async () => {
  const id = await work.admit(who);
  await work.append(who, id, ...deltas(250));
  const { hub, wake, queries } = openHub({ sweepMs: 60_000 });
  const observed = await observation(id, 0);
  const readers = Array.from({ length: 500 }, () => collect(hub.observe({ ...observed, signal: new AbortController().signal })));
  await eventually(() => readers.every(({ seen }) => seen.length === 251));
  // Three pages of up to a hundred, and the look at the head; a few more when the readers fell apart.
  expect(queries.length).toBeLessThanOrEqual(8);
  const before = queries.length;
  for (let round = 0; round < 10; round += 1) {
    await work.append(who, id, text('live'));
    wake.publish([id]);
    await eventually(() => readers.every(({ seen }) => seen.length === 252 + round));
  }
  expect(queries.length - before).toBeLessThanOrEqual(10);
  await work.end(who, id);
  wake.publish([id]);
  await Promise.all(readers.map(({ done }) => done));
  const [first, ...others] = readers;
  for (const { seen } of others) expect(seen.at(-1)).toBe(first?.seen.at(-1));
  expect(sequences(first?.seen ?? [])).toEqual(upTo(262));
});

test('at most a hundred queries a second, whatever the hints are', async () => {
  const id = await work.admit(who);
  const { hub, wake, queries } = openHub({ sweepMs: 60_000 });
  const observed = await observation(id, 0);
  const began = performance.now();
  const { done } = collect(hub.observe(observed));
  while (performance.now() - began < 500) {
    wake.publish([id]);
    await nextTurn();
  }
  expect(queries.length).toBeGreaterThan(5);
  expect(queries.length).toBeLessThanOrEqual(Math.ceil((performance.now() - began) / 10));
  await work.end(who, id);
  wake.publish([id]);
  await done;
});

test('a slow reader pages from its own cursor: nothing is lost, and no window grows for it', async () => {
  const id = await work.admit(who);
  const { hub, wake, queries } = openHub({ windowEvents: 20, sweepMs: 60_000 });
  const slow = hub.observe(await observation(id, 0));
  const fast = collect(hub.observe(await observation(id, 0)));
  const seen = [(await slow.next()).value as ReadEvent];
  for (let round = 0; round < 20; round += 1) {
    const last = await work.append(who, id, ...deltas(20));
    wake.publish([id]);
    await eventually(() => fast.seen.length === last);
  }
  const last = await work.end(who, id);
  wake.publish([id]);
  await fast.done;
  const before = queries.length;
  seen.push(...(await readAll(slow)));
  expect(queries.length).toBeGreaterThan(before);
  expect(sequences(seen)).toEqual(upTo(last));
  expect(sequences(fast.seen)).toEqual(upTo(last));
  expect(seen.map(({ json }) => json)).toEqual(fast.seen.map(({ json }) => json));
});

test('a window that was given back for memory costs pages, no events', async () => {
  const id = await work.admit(who);
  const { hub, wake } = openHub({ totalBytes: 0, sweepMs: 20 });
  const { seen, done } = collect(hub.observe(await observation(id, 0)));
  for (let round = 0; round < 10; round += 1) {
    await work.append(who, id, ...deltas(30));
    wake.publish([id]);
  }
  const last = await work.end(who, id);
  wake.publish([id]);
  await done;
  expect(sequences(seen)).toEqual(upTo(last));
});

test('large events come in small pages', async () => {
  const id = await work.admit(who);
  await work.append(who, id, ...Array.from({ length: 6 }, (_, index) => text(String(index).repeat(200_000))));
  const { hub } = openHub();
  const page = await hub.readPage({ context: who.context, logId: id, after: 0, limit: 100 });
  expect(sequences(page.events)).toEqual([1, 2, 3]);
  expect(page.more).toBe(true);
  const { seen } = collect(hub.observe(await observation(id, 0)));
  await eventually(() => seen.length === 7);
});

test('aborting ends the observation alone, whether it waits, pages or yields', async () => {
  const id = await work.admit(who);
  await work.append(who, id, ...deltas(3));
  let stuck = true;
  const { hub, wake } = openHub({ sweepMs: 60_000 }, () => (stuck ? new Promise<void>(() => undefined) : Promise.resolve()));
  const paging = new AbortController();
  const pages = collect(hub.observe(await observation(id, 0, { signal: paging.signal })));
  await nextTurn();
  paging.abort();
  await pages.done;
  stuck = false;

  const { hub: other, wake: otherWake } = openHub({ sweepMs: 60_000 });
  const waiting = new AbortController();
  const waits = collect(other.observe(await observation(id, 4, { signal: waiting.signal })));
  const stays = collect(other.observe(await observation(id, 4)));
  await nextTurn();
  waiting.abort();
  await waits.done;
  await work.end(who, id);
  otherWake.publish([id]);
  wake.publish([id]);
  await stays.done;
  expect(sequences(stays.seen)).toEqual([5]);
  expect(waits.seen).toEqual([]);
  expect(await readAll(other.observe(await observation(id, 0, { signal: AbortSignal.abort() })))).toEqual([]);
});

test('closing the hub ends every observation', async () => {
  const id = await work.admit(who);
  const { hub } = openHub();
  const readers = [collect(hub.observe(await observation(id, 0))), collect(hub.observe(await observation(id, 1)))];
  await eventually(() => readers[0]?.seen.length === 1);
  hub.close();
  await Promise.all(readers.map(({ done }) => done));
  expect(await readAll(hub.observe(await observation(id, 0)))).toEqual([]);
});

test('rights are asked again: not more often than wanted, a failing question keeps, a lost right ends', async () => {
  const id = await work.admit(who);
  const { hub } = openHub({ sweepMs: 10, recheckMs: 100 });
  const answers: (boolean | Error)[] = [true, new Error('the database is down'), true];
  const asked: number[] = [];
  const recheck = async (): Promise<boolean> => {
    asked.push(performance.now());
    const answer = answers[asked.length - 1] ?? false;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const { done, seen } = collect(hub.observe(await observation(id, 0, { recheck })));
  await done;
  expect(seen).toHaveLength(1);
  expect(asked).toHaveLength(4);
  expect((asked[1] as number) - (asked[0] as number)).toBeGreaterThanOrEqual(95);
});

test('reads that fail are tried again for who waits, and fail for who pages', async () => {
  const id = await work.admit(who);
  let down = false;
  const { hub, wake } = openHub({ sweepMs: 60_000 }, async () => {
    if (down) throw new Error('the database is down');
  });
  const { seen, done } = collect(hub.observe(await observation(id, 0)));
  await eventually(() => seen.length === 1);
  const page = { context: who.context, logId: id, after: 0, limit: 10 };
  down = true;
  await expect(hub.readPage(page)).rejects.toThrow('the database is down');
  const last = await work.end(who, id);
  wake.publish([id]);
  await expect(hub.readPage({ ...page, after: 1 })).rejects.toThrow('the database is down');
  down = false;
  await done;
  expect(sequences(seen)).toEqual(upTo(last));
});

test('a changed event fails its own log with the cause inside, and no other', async () => {
  const [broken, sound] = [await work.admit(who), await work.admit(who)];
  await work.append(who, broken, text('sealed'));
  await work.append(who, sound, text('sealed'));
  await database.api.transaction(async (tx) => {
    await tx.query(`select set_config('app.organization', $1, true), set_config('app.project', $2, true)`, [who.context.organizationId, who.context.projectId]);
    await tx.query(`update execution_event set body = set_byte(body, 40, get_byte(body, 40) # 1) where execution_id = $1 and sequence = 2`, [broken]);
  });
  const { hub } = openHub();
  const { seen } = collect(hub.observe(await observation(sound, 0)));
  await expect(readAll(hub.observe(await observation(broken, 0)))).rejects.toThrow(UnreadableLog);
  await eventually(() => seen.length === 2);
  const live = collect(hub.observe({ ...(await observation(broken, 1)), head: { sequence: 1, ended: false } }));
  await expect(live.done).rejects.toThrow(UnreadableLog);
});

test('logs of two tenants come in one query, each under its own policies', async () => {
  const stranger = newIdentity();
  const [own, foreign] = [await work.admit(who), await work.admit(stranger)];
  const { hub, queries } = openHub();
  const [mine, theirs, crossed] = await Promise.all([
    hub.readPage({ context: who.context, logId: own, after: 0, limit: 10 }),
    hub.readPage({ context: stranger.context, logId: foreign, after: 0, limit: 10 }),
    hub.readPage({ context: who.context, logId: foreign, after: 0, limit: 11 }),
  ]);
  expect(queries).toHaveLength(1);
  expect([mine.events.length, theirs.events.length]).toEqual([1, 1]);
  expect(crossed.events).toEqual([]);
});

test('another timeline ends every open reader with a fault before it gets an event of it; who comes back reads on', async () => {
  const [one, other] = [await work.admit(who), await work.admit(who)];
  let timeline: string | null = 'first';
  const wake = new InProcessWake();
  const hub = new EventHub(async (pages) => ({ ...(await readRowsOf(database.api)(pages)), timeline }), work.sealer, wake, { sweepMs: 60_000 });
  hubs.push(hub);
  const readers = await Promise.all([one, other].map(async (id) => collect(hub.observe(await observation(id, 0)))));
  await eventually(() => readers.every(({ seen }) => seen.length === 1));
  // Nobody can tell: no reason to end anything.
  timeline = null;
  await work.append(who, one, text('before'));
  wake.publish([one]);
  await eventually(() => readers[0]!.seen.length === 2);
  timeline = 'second';
  await work.append(who, one, text('after'));
  wake.publish([one]);
  for (const { done } of readers) await expect(done).rejects.toBeInstanceOf(TimelineChanged);
  expect(readers.map(({ seen }) => sequences(seen))).toEqual([[1, 2], [1]]);
  const again = collect(hub.observe(await observation(one, 2)));
  await eventually(() => again.seen.length === 1);
  expect(sequences(again.seen)).toEqual([3]);
});

test('whose head is of the history that goes on reads on, though nobody read over the change; whose head is of the lost one is told to come again', async () => {
  const [open, id] = [await work.admit(who), await work.admit(who)];
  let timeline = 'first';
  const wake = new InProcessWake();
  const hub = new EventHub(async (pages) => ({ ...(await readRowsOf(database.api)(pages)), timeline }), work.sealer, wake, { sweepMs: 60_000 });
  hubs.push(hub);
  const of = async (log: string, afterSequence: number, history: string): Promise<Observation> =>
    observation(log, afterSequence, { head: { ...(await work.head(who, log)), timeline: history } });
  const page = { context: who.context, logId: id, after: 0, limit: 10 };
  const before = collect(hub.observe(await of(open, 0, 'first')));
  await eventually(() => before.seen.length === 1);
  expect((await hub.readPage({ ...page, timeline: 'first' })).events).toHaveLength(1);
  timeline = 'second';
  // The database went on from another history, and nothing has been read since: these two looked at their heads after and before that.
  const [after, late] = [collect(hub.observe(await of(id, 0, 'second'))), collect(hub.observe(await of(id, 1, 'first')))];
  await expect(late.done).rejects.toBeInstanceOf(TimelineChanged);
  await expect(before.done).rejects.toBeInstanceOf(TimelineChanged);
  await eventually(() => after.seen.length === 1);
  await expect(hub.readPage({ ...page, timeline: 'first' })).rejects.toBeInstanceOf(TimelineChanged);
  expect((await hub.readPage({ ...page, timeline: 'second' })).events).toHaveLength(1);
  await work.end(who, id);
  wake.publish([id]);
  await after.done;
  expect(sequences(after.seen)).toEqual([1, 2]);
  await expect(readAll(hub.observe(await of(id, 1, 'first')))).rejects.toBeInstanceOf(TimelineChanged);
  expect(sequences(await readAll(hub.observe(await of(id, 1, 'second'))))).toEqual([2]);
  expect(hub.figures.readers).toBe(0);
});

test('the first reader of a process is told, too, when its head is of a lost history', async () => {
  const id = await work.admit(who);
  const hub = new EventHub(async (pages) => ({ ...(await readRowsOf(database.api)(pages)), timeline: 'second' }), work.sealer, new InProcessWake(), { sweepMs: 60_000 });
  hubs.push(hub);
  const head = { ...(await work.head(who, id)), timeline: 'first' };
  await expect(readAll(hub.observe(await observation(id, 1, { head })))).rejects.toBeInstanceOf(TimelineChanged);
  await expect(hub.readPage({ context: who.context, logId: id, after: 0, limit: 10, timeline: 'first' })).rejects.toBeInstanceOf(TimelineChanged);
});
