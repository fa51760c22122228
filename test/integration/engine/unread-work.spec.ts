import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { end, Workflow, type Next, type Saga } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, itemOf, joinAs, releaseAll } from './by-hand.js';

@Workflow('inherited', { version: 1 })
@Injectable()
class InheritedSaga implements Saga<object> {
  next(): Next {
    return end('completed');
  }
}

let database: TestDatabase;
let superuser: Pool;
let engine: EngineHarness;
const tenant = newTenant();

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await engine.stop();
  await superuser.end();
  await database.close();
});

test('work whose calls cannot be read is not ended without them: an unproven call of the owner before is unknown, whatever fails on the way', async () => {
  const worker = poolOf(database.worker);
  const id = await admit(database, tenant, 'inherited');
  const epoch = await joinAs(worker, 'gone');
  const [head] = await claimAs(worker, 'gone', epoch, 'inherited');
  const sending = { step: 1, name: 'letter', attempt: 1, kind: 'test', safety: 'unproven', key: 'k', to: 'sending' } as const;
  expect(await commitAlone(worker, itemOf(head!, { calls: [sending] }))).toBe('applied');
  await releaseAll(worker, 'gone', epoch);

  // A refusal that is no outage: the statement is not there.
  await superuser.query('alter function load_work(uuid, uuid, uuid) rename to load_work_gone');
  engine = await startEngine(database, [InheritedSaga], { leaseMs: 1_000 });
  await eventually(() => engine.errors.some(({ category }) => category === 'end_failed'));
  const [unread] = await rowsOf(superuser, 'select state, ended_at from execution where id = $1', [id]);
  expect(unread).toMatchObject({ ended_at: null });
  await superuser.query('alter function load_work_gone(uuid, uuid, uuid) rename to load_work');

  await eventually(
    () => rowsOf<{ state: string; owner: string | null }>(superuser, 'select state, owner from execution where id = $1', [id]),
    ([row]) => row?.state === 'outcome_unknown' && row.owner === null,
    30_000,
  );
  expect(await rowsOf(superuser, 'select state from execution_call where execution_id = $1', [id])).toEqual([{ state: 'unknown' }]);
});
