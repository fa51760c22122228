import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { Hint } from '@engine/wake-channel.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { openSwallowingProxy } from './swallowing-proxy.js';

const fast = { testMs: 100, answerMs: 300 };

// Lost connections and listeners with faults are what these tests make.
Logger.overrideLogger(false);

let database: TestDatabase;
let observer: Client;
let payloads: string[] = [];
const nodes: NotifyWake[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  observer = new Client({ connectionString: database.url });
  observer.on('notification', ({ payload = '' }) => payloads.push(payload));
  await observer.connect();
  await observer.query('listen openbot_wake');
});
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.onApplicationShutdown()));
});
afterAll(async () => {
  await observer.end();
  await database.close();
});

type Node = { readonly wake: NotifyWake; readonly hints: Hint[]; readonly ids: () => Set<string>; readonly resyncs: () => number };

/** A node that listens already. */
async function startNode(url = database.apiUrl, settings: object = {}): Promise<Node> {
  const wake = new NotifyWake({ url, ...settings });
  nodes.push(wake);
  const hints: Hint[] = [];
  wake.subscribe((hint) => hints.push(hint));
  const resyncs = (): number => hints.filter((hint) => hint === 'all').length;
  wake.onModuleInit();
  await eventually(() => resyncs() === 1);
  return { wake, hints, resyncs, ids: () => new Set(hints.flatMap((hint) => (hint === 'all' ? [] : hint))) };
}

const sentIds = (): string[] => payloads.filter((payload) => payload.startsWith('ids '));
const backends = async (): Promise<number[]> => {
  const { rows } = await observer.query<{ pid: number }>(`select pid from pg_stat_activity where application_name = 'openbot wake' and datname = current_database()`);
  return rows.map(({ pid }) => pid);
};

test('another node hears, and the own node hears once', async () => {
  const [one, other] = [await startNode(), await startNode(database.workerUrl)];
  const id = uuidv7();
  one.wake.publish([id]);
  await eventually(() => other.ids().has(id));
  const after = uuidv7();
  other.wake.publish([after]);
  await eventually(() => one.ids().has(after));
  expect(one.hints.filter((hint) => hint.includes(id))).toEqual([[id]]);
});

test('a thousand hints at once go out in few notifications, each below the limit', async () => {
  const [one, other] = [await startNode(), await startNode()];
  payloads = [];
  const ids = Array.from({ length: 1_000 }, () => uuidv7());
  for (const id of ids) one.wake.publish([id, id]);
  await eventually(() => ids.every((id) => other.ids().has(id)));
  await eventually(() => sentIds().length > 0);
  expect(sentIds().length).toBeLessThanOrEqual(10);
  for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
});

test('too many to name are told as "all"', async () => {
  const [one, other] = [await startNode(), await startNode()];
  const before = other.resyncs();
  one.wake.publish(Array.from({ length: 6_000 }, () => uuidv7()));
  await eventually(() => other.resyncs() > before);
});

test('a node that is alone tells nobody, and begins to when another comes', async () => {
  const one = await startNode(database.apiUrl, fast);
  payloads = [];
  await eventually(async () => {
    one.wake.publish([uuidv7()]);
    await observer.query('select 1');
    const quietSince = payloads.findLastIndex((payload) => payload.startsWith('ids '));
    // Ten tests without a hint between them, although a hint was published before each.
    return payloads.length - quietSince > 10;
  });
  const other = await startNode(database.apiUrl, fast);
  const id = uuidv7();
  await eventually(() => {
    one.wake.publish([id]);
    return other.ids().has(id);
  });
});

test('its backend is terminated: LISTEN is active again before listeners are told to look at everything', async () => {
  const one = await startNode();
  const sender = await startNode();
  const listeningAtResync: Promise<number>[] = [];
  one.wake.subscribe((hint) => void (hint === 'all' && listeningAtResync.push(countListeners())));
  const before = await backends();
  expect(before).toHaveLength(2);
  const countListeners = async (): Promise<number> => {
    const { rows } = await observer.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where application_name = 'openbot wake' and datname = current_database() and pid <> all ($1) and (query ilike 'listen%' or query ilike '%pg_notify%')`,
      [before],
    );
    return rows[0]?.n ?? 0;
  };
  await observer.query(`select pg_terminate_backend(pid) from unnest($1::int[]) pid`, [before]);
  await eventually(() => one.resyncs() === 2 && sender.resyncs() === 2);
  expect(await listeningAtResync[0]).toBeGreaterThan(0);
  const id = uuidv7();
  sender.wake.publish([id]);
  await eventually(() => one.ids().has(id));
});

test('what was published while the connection was gone is told over the next one', async () => {
  const [one, other] = [await startNode(), await startNode()];
  const ids = [uuidv7(), uuidv7()];
  const [pid] = (
    await observer.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'openbot wake' and datname = current_database() order by backend_start limit 1`,
    )
  ).rows;
  await observer.query(`select pg_terminate_backend($1)`, [pid?.pid]);
  one.wake.publish([ids[0] as string]);
  await eventually(() => one.resyncs() === 2);
  one.wake.publish([ids[1] as string]);
  await eventually(() => ids.every((id) => other.ids().has(id)));
});

test('a connection that has gone silent is noticed and replaced', async () => {
  const proxy = await openSwallowingProxy(database.apiUrl);
  try {
    const one = await startNode(proxy.url, fast);
    const other = await startNode(database.apiUrl, fast);
    proxy.swallow();
    const since = performance.now();
    await eventually(() => one.resyncs() === 2);
    expect(performance.now() - since).toBeLessThan(15_000);
    expect(proxy.connections()).toBe(2);
    const id = uuidv7();
    other.wake.publish([id]);
    await eventually(() => one.ids().has(id));
  } finally {
    await proxy.close();
  }
});

test('a database that refuses connections is tried less and less often, and each try is told once', async () => {
  const told: number[] = [];
  const logger = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => void told.push(performance.now()));
  try {
    const wake = new NotifyWake({ url: 'postgres://openbot@127.0.0.1:1/openbot' });
    nodes.push(wake);
    wake.onModuleInit();
    await eventually(() => told.length >= 5);
    // 50, 100, 200 and 400 ms, each at least half.
    expect((told[4] ?? 0) - (told[0] ?? 0)).toBeGreaterThan(350);
  } finally {
    logger.mockRestore();
  }
});

test('closing ends the connection, also while it is being made', async () => {
  const { wake } = await startNode();
  await wake.onApplicationShutdown();
  await eventually(backends, (pids) => pids.length === 0);
  const unreachable = new NotifyWake({ url: 'postgres://openbot@127.0.0.1:1/openbot' });
  unreachable.onModuleInit();
  await unreachable.onApplicationShutdown();
});
