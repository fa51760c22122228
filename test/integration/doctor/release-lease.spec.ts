import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { findLease, releaseLease } from '@platform/doctor/release-lease.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { LeaseHandler, leaseSaga } from '../engine/lease-feature.js';
import { liveNode } from './live-node.js';

const leaseMs = 500;
const tenant = newTenant();
let database: TestDatabase;
let operator: Client;
let worker: Pool;
let superuser: Pool;
const yard = mkdtempSync(join(tmpdir(), 'openbot-yard-'));

beforeAll(async () => {
  database = await openTestDatabase();
  worker = poolOf(database.worker);
  superuser = new Pool({ connectionString: database.url });
  operator = new Client({ connectionString: database.workerUrl });
  await operator.connect();
});
afterAll(async () => {
  rmSync(yard, { recursive: true });
  await operator.end();
  await superuser.end();
  await database.close();
});

const release = (id: string, by = 'Ada') => releaseLease(operator, leaseMs, id, by);
const rowOf = async (id: string) => (await findLease(operator, id))!;

/** What a process left, or holds: as its owner stores it. */
async function leaseOf(owner: string, process: string, state: string): Promise<string> {
  const id = uuidv7();
  await superuser.query(
    `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, process, generation, state) values ($1, $2, $3, 'thing', $7, $1, $4, 1, $5, 1, $6)`,
    [id, tenant.organizationId, tenant.projectId, owner, process, state, id],
  );
  return id;
}
const move = async (id: string, state: string): Promise<string | null> =>
  (await worker.query<{ state: string | null }>('select move_lease($1, $2, $3, $4, null) as state', [tenant.organizationId, tenant.projectId, id, state])).rows[0]!.state;

test.each(['unknown', 'open', 'closing', 'close_failed'])(
  '%s, and its process is gone: the word is recorded, once, and what the process says later changes nothing',
  async (state) => {
    const node = await liveNode(database, `gone ${state}`);
    const id = await leaseOf(`gone ${state}`, node.process, state);
    await node.kill();
    await eventually(async () => !(await rowOf(id)).holder_lives);
    expect(await release(id)).toMatchObject({ ok: true, value: { state: 'closed', released_by: 'Ada', closed_at: expect.any(Date) as Date } });
    const { closed_at } = await rowOf(id);
    expect(await release(id)).toMatchObject({ ok: true, value: { closed_at } });
    expect(await release(id, 'Grace')).toEqual({ ok: false, failure: { _tag: 'LeaseClosed', releasedBy: 'Ada' } });
    expect(await move(id, 'closing')).toBe('closed');
    expect(await rowOf(id)).toMatchObject({ state: 'closed', released_by: 'Ada', closed_at });
  },
);

test('the word is told to the audit log of the project, once', async () => {
  await superuser.query(`insert into organization (id, name) values ($1, 'Example')`, [tenant.organizationId]);
  await superuser.query(`insert into project (organization_id, id, name) values ($1, $2, 'Default')`, [tenant.organizationId, tenant.projectId]);
  const id = await leaseOf('gone for good', uuidv7(), 'unknown');
  for (const by of ['Ada', 'Ada', 'Grace']) await release(id, by);
  const told = await rowsOf(superuser, `select project_id, action, actor_kind, detail from audit_inbox where target_id = $1`, [id]);
  expect(told).toEqual([{ project_id: tenant.projectId, action: 'lease.released', actor_kind: 'operator', detail: {} }]);
});

test.each(['unknown', 'open', 'closing', 'close_failed'])('%s, and its process lives: nobody’s word counts, at once', async (state) => {
  const node = await liveNode(database, `alive ${state}`);
  try {
    const id = await leaseOf(`alive ${state}`, node.process, state);
    expect(await release(id)).toEqual({ ok: false, failure: { _tag: 'LeaseHeld', node: `alive ${state}` } });
    // Whoever asks past the look that comes first is answered the same.
    const { rows } = await worker.query('select release_lease($1, $2, $3, $4) as outcome', [tenant.organizationId, tenant.projectId, id, 'Ada']);
    expect(rows).toEqual([{ outcome: 'held' }]);
    expect(await rowOf(id)).toMatchObject({ state, released_by: null });
  } finally {
    await node.kill();
  }
});

test('a process that had only lost its connection is found when it is back; one of the same name that came after it does not count', async () => {
  const node = await liveNode(database, 'again');
  const id = await leaseOf('again', node.process, 'unknown');
  await node.kill();
  await eventually(async () => !(await rowOf(id)).holder_lives);
  const asked = releaseLease(operator, 60_000, id, 'Ada');
  const back = await liveNode(database, 'again');
  await worker.query(`update node set process = $1 where name = 'again'`, [node.process]);
  expect(await asked).toEqual({ ok: false, failure: { _tag: 'LeaseHeld', node: 'again' } });
  await worker.query(`update node set process = $1 where name = 'again'`, [back.process]);
  expect(await release(id)).toMatchObject({ ok: true });
  await back.kill();
});

test('a lease that is not there, of another tenant, or that its owner has closed', async () => {
  expect(await release(uuidv7())).toEqual({ ok: false, failure: { _tag: 'LeaseNotFound' } });
  const id = await leaseOf('closer', uuidv7(), 'closing');
  const other = newTenant();
  expect((await worker.query('select release_lease($1, $2, $3, $4) as outcome', [other.organizationId, other.projectId, id, 'Ada'])).rows).toEqual([{ outcome: 'gone' }]);
  expect(await move(id, 'closed')).toBe('closed');
  expect(await release(id)).toEqual({ ok: false, failure: { _tag: 'LeaseClosed', releasedBy: null } });
  await expect(database.api.query('select * from find_lease($1)', [id])).rejects.toMatchObject({ code: '42501' });
});

test('the thing of an owner that left is somebody else’s after the word, and was nobody’s before', async () => {
  const parts = [LeaseHandler, leaseSaga('lease')];
  const take = async (): Promise<string> => {
    const id = await admit(database, tenant, 'lease', { yard, name: 'vault', outcome: null });
    const ended = await eventually(
      async () => (await rowsOf<{ state: string; cursor: { outcome: string } }>(superuser, 'select state, cursor from execution where id = $1', [id]))[0]!,
      ({ state }) => state === 'completed',
    );
    return ended.cursor.outcome;
  };
  writeFileSync(join(yard, 'vault.stuck'), '');
  const leaver = await startEngine(database, parts, { node: 'leaver', leaseMs: 1_500, graceMs: 100 });
  await admit(database, tenant, 'lease', { yard, name: 'vault', outcome: null });
  const held = async () => (await rowsOf<{ id: string; state: string }>(superuser, `select id, state from resource_lease where resource = 'vault' and closed_at is null`))[0];
  const lease = (await eventually(held, (row) => row?.state === 'close_failed'))!;
  expect(await release(lease.id)).toMatchObject({ failure: { _tag: 'LeaseHeld', node: 'leaver' } });
  await leaver.stop();
  const heir = await startEngine(database, parts, { node: 'heir', leaseMs: 1_500 });
  try {
    await eventually(held, (row) => row?.state === 'unknown');
    expect(await take()).toBe('unknown');
    for (const file of ['vault', 'vault.stuck']) rmSync(join(yard, file));
    expect(await take()).toBe('unknown');
    expect(await release(lease.id)).toMatchObject({ ok: true });
    expect(await take()).toBe('taken');
  } finally {
    await heir.stop();
  }
});
