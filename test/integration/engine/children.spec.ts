import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { childIdOf, childrenEnded } from '@engine/child.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, cancel, logOf, newTenant, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createFamilyFeature, familyHandlers, familySaga, type FamilyCursor } from './family-feature.js';

const leaf: FamilyCursor = {};
const held: FamilyCursor = { holds: true };
const attached = (...cursors: FamilyCursor[]) => cursors.map((cursor) => ({ attached: true, cursor }));
const detached = (...cursors: FamilyCursor[]) => cursors.map((cursor) => ({ attached: false, cursor }));

describe('children', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const childrenOf = (id: string) => rowsOf(superuser, 'select * from execution where parent_id = $1 order by id', [id]);
  const ended = async (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const waits = (id: string, openChildren: number, state = 'waiting') =>
    eventually(
      () => head(id),
      (row) => row['state'] === state && row['owner'] === null && row['open_children'] === openChildren,
    );
  const noticesTo = (id: string) => rowsOf(superuser, 'select state, parent_state from family_notice where parent_id = $1 order by state', [id]);
  const start = (cursor: FamilyCursor, memberId: string | null = null) => admit(database, tenant, 'family', cursor, { memberId });

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createFamilyFeature(superuser);
    harness = await startEngine(database, [...familyHandlers, familySaga('family')]);
  });
  afterAll(async () => {
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  test.each(['commit', 'finish', 'transact'] as const)('admitted by %s: the parent waits for attached children, and ends after them and their notices', async (by) => {
    const memberId = uuidv7();
    const id = await start({ by, children: attached(leaf, leaf, held) }, memberId);
    await waits(id, 1);
    const last = (await childrenOf(id)).find(({ ended_at }) => ended_at === null)!;
    await signal(database, tenant, last['id'] as string, 'go');
    expect(await ended(id)).toMatchObject({ state: 'completed', open_children: 0, ending: null, error_id: null });
    const children = await childrenOf(id);
    expect(children.map((child) => child['id'])).toEqual([0, 1, 2].map((index) => childIdOf(id, `child ${index}`)).sort());
    const parent = await head(id);
    for (const child of children) {
      expect(child).toMatchObject({ state: 'completed', attached: true, member_id: memberId, organization_id: tenant.organizationId, project_id: tenant.projectId });
      expect((child['ended_at'] as Date) <= (parent['ended_at'] as Date)).toBe(true);
    }
    expect(await noticesTo(id)).toHaveLength(3);
    expect(harness.points).toEqual(expect.arrayContaining(['child:admitted', 'child:end-before', 'child:end-locked', 'child:end-after']));
  });

  test('each end is a sealed signal with the child, its state and its failure', async () => {
    const id = await start({ holds: true, children: [...attached(leaf, { as: 'throws' }), ...detached({ as: 'interrupted' })] });
    await eventually(
      () => rowsOf(superuser, `select 1 from execution_signal where execution_id = $1 and name = 'child-ended'`, [id]),
      (rows) => rows.length === 3,
    );
    const rows = await rowsOf<{ name: string; number: number; body: Buffer }>(superuser, 'select name, number, body from execution_signal where execution_id = $1', [id]);
    const key = await harness.sealing.keyOf(tenant.organizationId);
    const read = rows.map(({ name, number, body }) => ({ name, number, body: JSON.parse(key.open({ table: 'execution_signal', record: id }, body).toString('utf8')) as unknown }));
    const failed = await head(childIdOf(id, 'child 1'));
    expect(read.map(({ number }) => number).sort()).toEqual([1, 2, 3]);
    expect(childrenEnded(read)).toEqual(
      expect.arrayContaining([
        { child: childIdOf(id, 'child 0'), attached: true, state: 'completed', failure: null },
        { child: childIdOf(id, 'child 1'), attached: true, state: 'failed', failure: { category: 'internal', errorId: failed['error_id'] } },
        { child: childIdOf(id, 'child 2'), attached: false, state: 'interrupted', failure: null },
      ]),
    );
    for (const { body } of rows) expect(body.toString('latin1')).not.toContain('failed');
    await signal(database, tenant, id, 'go');
    expect(await ended(id)).toMatchObject({ state: 'completed' });
  });

  test('a parent that fails for its child keeps the first error id, in its row and in its log', async () => {
    const id = await start({ failsWithChild: true, children: attached({ children: attached({ as: 'throws' }), failsWithChild: true }) });
    const parent = await ended(id);
    const child = await head(childIdOf(id, 'child 0'));
    const first = await head(childIdOf(child['id'] as string, 'child 0'));
    expect(first).toMatchObject({ state: 'failed', failure_category: 'internal', error_id: expect.any(String) });
    expect(child).toMatchObject({ state: 'failed', failure_category: 'internal', error_id: first['error_id'] });
    expect(parent).toMatchObject({ state: 'failed', failure_category: 'internal', error_id: first['error_id'] });
    const log = await logOf(superuser, harness.sealing, tenant.organizationId, id);
    expect(log.filter(({ _tag }) => _tag === 'Failure')).toEqual([expect.objectContaining({ category: 'internal', errorId: `err_${String(first['error_id'])}` })]);
  });

  test.each(['throws', 'interrupted'] as const)('a parent that ends as %s asks its children to stop, once, and ends after them', async (as) => {
    const between: FamilyCursor = { holds: true, children: attached(held) };
    const id = await start({ as, holds: true, children: [...attached(between, held), ...detached(held)] });
    await waits(id, 2);
    await waits(childIdOf(id, 'child 0'), 1);
    await signal(database, tenant, id, 'go');
    const parent = await ended(id);
    expect(parent).toMatchObject({ state: as === 'throws' ? 'failed' : 'interrupted', open_children: 0, ending: as === 'throws' ? 'failed' : 'interrupted' });
    const children = await childrenOf(id);
    expect(children.filter((child) => child['attached'])).toMatchObject([
      { state: 'cancelled', cancel_number: 1 },
      { state: 'cancelled', cancel_number: 1 },
    ]);
    // Nobody has asked what is detached, and nobody has asked twice.
    expect(children.filter((child) => !child['attached'])).toMatchObject([{ ended_at: null, cancel_number: 0 }]);
    expect((await childrenOf(childIdOf(id, 'child 0'))).map((child) => [child['state'], child['cancel_number']])).toEqual([['cancelled', 1]]);
    const log = await logOf(superuser, harness.sealing, tenant.organizationId, id);
    expect(log.filter(({ _tag }) => _tag === 'Failure')).toHaveLength(as === 'throws' ? 1 : 0);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  });

  test('a cancel reaches attached work of any depth, whatever its state, and names all that it touched', async () => {
    const id = await start({ holds: true, children: [...attached({ holds: true, children: attached({ holds: true, children: attached(held) }, held) }), ...detached(held)] });
    const child = childIdOf(id, 'child 0');
    const [grandchild, second] = [childIdOf(child, 'child 0'), childIdOf(child, 'child 1')];
    const last = childIdOf(grandchild, 'child 0');
    await eventually(
      () => rowsOf(superuser, `select 1 from execution where id = any ($1) and state = 'waiting'`, [[id, child, grandchild, second, last]]),
      (rows) => rows.length === 5,
    );
    const cancelled = await cancel(database, tenant, id);
    expect(cancelled).toMatchObject({ ok: true, value: { number: 1 } });
    const family = [id, child, grandchild, second, last];
    expect(cancelled.ok && [...(cancelled.value?.touched ?? [])].sort()).toEqual([...family].sort());
    for (const each of family) expect(await ended(each)).toMatchObject({ state: 'cancelled', cancel_number: 1, open_children: 0 });
    const order = await rowsOf<{ id: string }>(superuser, 'select id from execution where id = any ($1) order by ended_at desc', [[id, child, grandchild, last]]);
    expect(order.map((row) => row.id)).toEqual([id, child, grandchild, last]);
    expect(await head(childIdOf(id, 'child 1'))).toMatchObject({ state: 'waiting', cancel_number: 0 });
    expect(await noticesTo(id)).toEqual([{ state: 'cancelled', parent_state: 'cancelling' }]);
  });

  test('queued children of cancelled work need no phase to end', async () => {
    const id = await start({ holds: true, children: attached(held) });
    await waits(id, 1);
    const child = uuidv7();
    await transact(database.api, tenant, async (tx) => {
      await tx.query('select 1 from execution where id = $1 for no key update', [id]);
      await tx.query('select admit_executions($1)', [
        JSON.stringify([{ id: child, parent: id, attached: true, workflow: 'family', version: 1, cursor: {}, ready: false, subject: null, identity: null }]),
      ]);
      return ok(undefined);
    });
    expect(await head(id)).toMatchObject({ open_children: 2 });
    await cancel(database, tenant, id);
    expect(await ended(id)).toMatchObject({ state: 'cancelled' });
    expect(await head(child)).toMatchObject({ state: 'cancelled' });
  });

  test('a detached child outlives its parent: its end is history there and starts nothing', async () => {
    const id = await start({ children: detached(held) });
    const before = await ended(id);
    expect(before).toMatchObject({ state: 'completed', signal_count: 0 });
    const child = childIdOf(id, 'child 0');
    await signal(database, tenant, child, 'go');
    expect(await ended(child)).toMatchObject({ state: 'completed', attached: false });
    expect(await head(id)).toEqual({ ...before, signal_count: 1 });
    expect(await noticesTo(id)).toEqual([{ state: 'completed', parent_state: 'completed' }]);
    expect(await rowsOf(superuser, 'select name, number, consumed from execution_signal where execution_id = $1', [id])).toEqual([
      { name: 'child-ended', number: 1, consumed: null },
    ]);
  });

  test('a detached child whose parent is gone ends as any work does', async () => {
    const id = await start({ children: detached(held) });
    await ended(id);
    const child = childIdOf(id, 'child 0');
    await superuser.query('delete from execution where id = $1', [id]);
    await signal(database, tenant, child, 'go');
    expect(await ended(child)).toMatchObject({ state: 'completed' });
    expect(await noticesTo(id)).toEqual([{ state: 'completed', parent_state: null }]);
  });
});
