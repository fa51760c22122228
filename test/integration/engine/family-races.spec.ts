import { setImmediate as turn } from 'node:timers/promises';
import { Pool } from 'pg';
import { childIdOf } from '@engine/child.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, cancel, newTenant, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createFamilyFeature, familyHandlers, familySaga, silentSaga, type FamilyCursor } from './family-feature.js';

/** Every hint is lost: what wakes a parent is its head alone. */
class LostWake extends WakeChannel {
  publish(): void {}
  subscribe(): () => void {
    return () => undefined;
  }
}

const attached = (count: number, cursor: FamilyCursor) => Array.from({ length: count }, () => ({ attached: true, cursor }));

describe('children and parents at the same time, on two engines without hints', () => {
  let database: TestDatabase;
  let superuser: Pool;
  const engines: EngineHarness[] = [];
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createFamilyFeature(superuser);
    const parts = [...familyHandlers, familySaga('family'), silentSaga('silent')];
    for (const node of ['one', 'two']) engines.push(await startEngine(database, parts, { node, wake: new LostWake(), slots: 60 }));
  });
  afterAll(async () => {
    for (const engine of engines) await engine.stop();
    await superuser.end();
    await database.close();
  });

  const deadlocks = async (): Promise<number> => {
    await superuser.query('select pg_stat_force_next_flush()');
    return Number((await rowsOf(superuser, 'select deadlocks from pg_stat_database where datname = current_database()'))[0]?.['deadlocks']);
  };
  const start = (count: number, cursor: FamilyCursor): Promise<string[]> => Promise.all(Array.from({ length: count }, () => admit(database, tenant, 'family', cursor)));
  /** The parents, once all of their families have ended; every invariant of a family that has ended holds. */
  async function ended(ids: readonly string[], children: number) {
    const all = await eventually(
      () => rowsOf(superuser, 'select * from execution where id = any ($1) or parent_id = any ($1)', [ids]),
      (rows) => rows.length === ids.length * (1 + children) && rows.every(({ ended_at }) => ended_at !== null),
      60_000,
    );
    const notices = await rowsOf<{ id: string; notices: number; signals: number }>(
      superuser,
      `select x.id, (select count(*)::int from family_notice n where n.parent_id = x.id) as notices,
         (select count(*)::int from execution_signal s where s.execution_id = x.id and s.name = 'child-ended') as signals from execution x where x.id = any ($1)`,
      [ids],
    );
    for (const { notices: written, signals } of notices) expect([written, signals]).toEqual([children, children]);
    for (const row of all) expect(row).toMatchObject({ open_children: 0, owner: null, stalls: 0 });
    const parents = all.filter(({ parent_id }) => parent_id === null);
    for (const parent of parents)
      for (const child of all.filter(({ parent_id }) => parent_id === parent['id'])) expect((child['ended_at'] as Date) <= (parent['ended_at'] as Date)).toBe(true);
    return { parents, children: all.filter(({ parent_id }) => parent_id !== null) };
  }

  test('50 parents with five children each: every end is told, and nothing locks the other way round', async () => {
    const before = await deadlocks();
    const ids = await start(50, { children: attached(5, {}) });
    const { parents, children } = await ended(ids, 5);
    for (const row of [...parents, ...children]) expect(row).toMatchObject({ state: 'completed' });
    expect(await deadlocks()).toBe(before);
  }, 90_000);

  test('cancels that meet parents anywhere in the admission of their children leave none behind', async () => {
    const before = await deadlocks();
    const ids = await start(30, { holds: true, by: 'transact', children: attached(2, { holds: true }) });
    await Promise.all(
      ids.map(async (id, index) => {
        for (let turns = index * 20; turns > 0; turns -= 1) await turn();
        await cancel(database, tenant, id);
      }),
    );
    const all = await eventually(
      () => rowsOf(superuser, 'select * from execution where id = any ($1) or parent_id = any ($1)', [ids]),
      (rows) => rows.every(({ ended_at }) => ended_at !== null),
      60_000,
    );
    for (const row of all) expect(row).toMatchObject({ state: 'cancelled', open_children: 0, cancel_number: 1 });
    // Two or none: a commit that admits is whole.
    for (const id of ids) expect([0, 2]).toContain(all.filter(({ parent_id }) => parent_id === id).length);
    expect(await deadlocks()).toBe(before);
  }, 90_000);

  test('children that end while their parents are cancelled are told all the same', async () => {
    const before = await deadlocks();
    const ids = await start(20, { holds: true, children: attached(3, { holds: true }) });
    await eventually(
      () => rowsOf(superuser, `select 1 from execution where (id = any ($1) or parent_id = any ($1)) and state = 'waiting'`, [ids]),
      (rows) => rows.length === 80,
      60_000,
    );
    await Promise.all(
      ids.flatMap((id) => [
        ...[0, 1, 2].map((index) => signal(database, tenant, childIdOf(id, `child ${index}`), 'go')),
        cancel(database, tenant, id),
        cancel(database, tenant, id),
      ]),
    );
    const { parents, children } = await ended(ids, 3);
    for (const parent of parents) expect(parent).toMatchObject({ state: 'cancelled', cancel_number: 2 });
    for (const { state } of children) expect(['completed', 'cancelled']).toContain(state);
    expect(await deadlocks()).toBe(before);
  }, 90_000);

  test('a child without an end of its own tells its parent too', async () => {
    const [id] = (await start(1, { holds: true })) as [string];
    await eventually(
      () => rowsOf(superuser, `select 1 from execution where id = $1 and state = 'waiting'`, [id]),
      (rows) => rows.length === 1,
    );
    const child = childIdOf(id, 'silent');
    const client = await superuser.connect();
    await client.query('begin');
    await client.query('select 1 from execution where id = $1 for no key update', [id]);
    await client.query('select admit_executions($1)', [JSON.stringify([{ id: child, parent: id, attached: true, workflow: 'silent', version: 1, cursor: {}, ready: true }])]);
    await client.query('commit');
    client.release();
    await eventually(
      () => rowsOf(superuser, `select open_children from execution where id = $1 and signal_count = 1`, [id]),
      ([row]) => row?.['open_children'] === 0,
    );
    await signal(database, tenant, id, 'go');
    expect(
      await eventually(
        () => rowsOf(superuser, 'select state from execution where id = $1 and ended_at is not null', [id]),
        (rows) => rows.length === 1,
      ),
    ).toEqual([{ state: 'completed' }]);
  });
});
