import { Pool } from 'pg';
import { noteBinding } from '@engine/hooks.js';
import type { WireHook } from '@engine/commit-item.js';
import { findUnknownWorkflows } from '@engine/unknown-workflows.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, sealingOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { startOutside, type Outside } from './outside.js';
import { startedNode, type WorkerNode } from './worker-node.js';

describe('processes of two builds, and hooks of processes that are killed', () => {
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
      30_000,
    );
  const rows = async (id: string) =>
    (await rowsOf<{ number: number }>(superuser, 'select number from probe_row where execution_id = $1 order by number', [id])).map(({ number }) => number);

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
  });
  beforeEach(async () => {
    outside = await startOutside();
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) {
      node.kill('SIGKILL');
      await node.exited;
    }
    await outside.close();
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  const start = async (node: string, workflow: string, debugPoint?: string): Promise<WorkerNode> => {
    const started = await startedNode(database, { node, workflows: [workflow], ...(debugPoint ? { debugPoint } : {}) });
    nodes.push(started);
    return started;
  };
  const work = async (workflow: string, held: boolean, steps = 3): Promise<string> => {
    const id = await admit(database, tenant, workflow, { steps, done: 0, safety: 'repeatable', outside: outside.url }, { subjectId: await newProbe(superuser, tenant) });
    if (held) outside.hold([id]);
    return id;
  };
  const sent = (id: string, times: number) => eventually(() => outside.sendsOf(id).length === times, Boolean, 30_000);
  const unknown = async () => (await findUnknownWorkflows(poolOf(database.worker))).map(({ workflow, version, executions }) => `${workflow}:${version} ${executions}`);

  test('work of the old build goes on in the new one, which raises it; the old build leaves it alone from then on, and it is reported', async () => {
    const old = await start('old', 'rolling');
    const held = await work('rolling', true);
    await sent(held, 1);
    const next = await start('next', 'rolling@2');
    old.kill('SIGTERM');
    await old.exited;
    // Handed over in the old shape, taken up in the new one: the call goes out again as its next attempt, in the commit that raises the row.
    await sent(held, 2);
    expect(await head(held)).toMatchObject({ workflow_version: 2, owner: 'next', cursor: { raisedFrom: 1, done: 0 } });

    next.kill('SIGKILL');
    await next.exited;
    await start('old-again', 'rolling');
    await eventually(async () => (await head(held))['owner'] === null, Boolean, 30_000);
    const free = await work('rolling', false);
    // The old build lives and works, and what it does not know it does not touch.
    expect(await ended(free)).toMatchObject({ state: 'completed', workflow_version: 1 });
    expect(await head(held)).toMatchObject({ workflow_version: 2, owner: null, ended_at: null });
    expect(await unknown()).toEqual(['rolling:2 1']);

    outside.letGo();
    await start('next-again', 'rolling@2');
    expect(await ended(held)).toMatchObject({ state: 'completed', workflow_version: 2, cursor: { raisedFrom: 1, done: 3 } });
    expect(await rows(held)).toEqual([1, 2, 3, 4]);
    expect(await unknown()).toEqual([]);
  }, 90_000);

  test('both builds side by side: each ends what it claims, and every step is saved once', async () => {
    await start('one', 'mixed');
    await start('two', 'mixed@2');
    const ids = await Promise.all(Array.from({ length: 20 }, () => work('mixed', false)));
    for (const id of ids) {
      const { state, workflow_version, cursor } = await ended(id);
      expect([state, cursor.raisedFrom]).toEqual(['completed', workflow_version === 2 ? 1 : undefined]);
      expect(await rows(id)).toEqual([1, 2, 3, 4]);
    }
  }, 60_000);

  test('a new build that is killed before its first commit has raised nothing: the old one goes on', async () => {
    const next = await start('early-next', 'early@2', 'end:before');
    const id = await work('early', false, 0);
    expect(await next.exited).toBe('SIGKILL');
    expect(await head(id)).toMatchObject({ workflow_version: 1, ended_at: null });
    await start('early-old', 'early');
    expect(await ended(id)).toMatchObject({ state: 'completed', workflow_version: 1 });
    expect(await rows(id)).toEqual([1]);
  }, 60_000);

  test('a hook notes each step of each attempt once, also when its process dies between a step and its commit; one that throws stops nothing', async () => {
    const killed = await start('hooked', 'hooked+hooks', 'call:result-known');
    const id = await work('hooked', false);
    expect(await killed.exited).toBe('SIGKILL');
    await start('hooked-next', 'hooked+hooks');
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2 });

    const notes = await rowsOf<WireHook & { body: never; note: Buffer }>(
      superuser,
      'select hook, at, step, name, attempt, body as note from execution_note where execution_id = $1 order by created_at, step, at desc, attempt',
      [id],
    );
    const key = await sealingOf(database).keyOf(tenant.organizationId);
    const said = notes.map(({ note, ...place }) => {
      const { state } = JSON.parse(key.open(noteBinding(id, place), note).toString('utf8')) as { state: string };
      return `${place.at} ${place.name ? `${place.step}:${place.attempt} ` : ''}${state}`;
    });
    expect(new Set(notes.map(({ hook }) => hook))).toEqual(new Set(['hooked-steps']));
    expect(said.filter((line) => line.includes('-call')).sort()).toEqual(
      [
        'after-call 1:1 abandoned',
        'after-call 1:2 succeeded',
        'after-call 2:1 succeeded',
        'after-call 3:1 succeeded',
        'before-call 1:1 sending',
        'before-call 1:2 sending',
        'before-call 2:1 sending',
        'before-call 3:1 sending',
      ].sort(),
    );
    expect(said.filter((line) => line.startsWith('phase-saved'))).toHaveLength(3);
    expect(said.filter((line) => line.startsWith('ended'))).toEqual(['ended completed']);
    // A note is of the commit of its step, and of no other.
    expect(await rowsOf(superuser, `select 1 from execution_note where execution_id = $1 and at in ('phase-saved', 'ended') and step <> commit_number`, [id])).toEqual([]);
  }, 60_000);
});
