import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { startOutside, type Outside } from './outside.js';
import { startedNode, type WorkerNode } from './worker-node.js';

// Processes start, and a busy machine takes its time for that.
jest.setTimeout(120_000);

/** The longest that an idle node sleeps between two looks, and what a busy machine adds. */
const pollMs = 1_250;
const busyMs = 6_000;

describe('a process that is told to stop', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  const nodes: WorkerNode[] = [];
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const start = async (node: string, workflow: string, graceMs = 20_000): Promise<WorkerNode> => {
    const started = await startedNode(database, { node, workflows: [workflow], leaseMs: 10_000, graceMs });
    nodes.push(started);
    return started;
  };
  const held = async (workflow: string): Promise<string> => {
    const id = await admit(database, tenant, workflow, { steps: 3, done: 0, safety: 'repeatable', outside: outside.url }, { subjectId: await newProbe(superuser, tenant) });
    outside.hold([id]);
    return id;
  };
  const numbers = async (id: string) =>
    (await rowsOf<{ number: number }>(superuser, 'select number from probe_row where execution_id = $1 order by number', [id])).map(({ number }) => number);

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    outside = await startOutside();
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) {
      node.kill('SIGKILL');
      await node.exited;
    }
  });
  afterAll(async () => {
    await outside.close();
    await superuser.end();
    await database.close();
  });

  test('cuts no call that ends within the grace period, claims nothing more, and the other goes on within a poll', async () => {
    const leaver = await start('leaver', 'leaving');
    const ids = await Promise.all(Array.from({ length: 5 }, () => held('leaving')));
    await eventually(() => outside.sends.length === 5);
    await start('heir', 'leaving');
    leaver.kill('SIGTERM');
    await eventually(
      () => rowsOf(superuser, `select 1 from node where name = 'leaver' and draining`),
      (rows) => rows.length === 1,
    );
    const fresh = await held('leaving');
    await eventually(() => outside.sendsOf(fresh).length === 1);
    expect(await head(fresh)).toMatchObject({ owner: 'heir', generation: 1 });
    for (const id of ids) expect(await head(id)).toMatchObject({ owner: 'leaver', generation: 1 });

    const answeredAt = performance.now();
    outside.letGo();
    await eventually(() => ids.every((id) => outside.sendsOf(id).length >= 2));
    expect(performance.now() - answeredAt).toBeLessThan(pollMs + busyMs);
    expect(await leaver.exited).toBe('0');
    for (const id of ids) {
      expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2, stalls: 0 });
      expect(outside.sendsOf(id)).toEqual(['1:1', '2:1', '3:1']);
      expect(await numbers(id)).toEqual([1, 2, 3, 4]);
    }
    expect(await ended(fresh)).toMatchObject({ state: 'completed', generation: 1 });
    expect(await rowsOf(superuser, `select 1 from node where name = 'leaver'`)).toEqual([]);
  });

  test('aborts what outlasts the grace period: the other repeats it within a poll, and it costs no stall', async () => {
    const leaver = await start('brief', 'brief', 200);
    const id = await held('brief');
    await eventually(() => outside.sendsOf(id).length === 1);
    await start('brief-heir', 'brief');
    leaver.kill('SIGTERM');
    expect(await leaver.exited).toBe('0');
    const leftAt = performance.now();
    await eventually(() => outside.sendsOf(id).length === 2);
    expect(performance.now() - leftAt).toBeLessThan(pollMs + busyMs);
    expect(await head(id)).toMatchObject({ owner: 'brief-heir', generation: 2, stalls: 0 });
    outside.letGo();
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2, stalls: 0 });
    expect(outside.sendsOf(id)).toEqual(['1:1', '1:2', '2:1', '3:1']);
    expect(await numbers(id)).toEqual([1, 2, 3, 4]);
  });
});
