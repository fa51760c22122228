import { Pool } from 'pg';
import { Claimer } from '@engine/claimer.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf } from '@test/support/engine.js';
import { joinAs } from './by-hand.js';

const runsOn = (): boolean => false;

describe('a node without a free slot', () => {
  let database: TestDatabase;
  let superuser: Pool;
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  async function fullNode(workflow: string): Promise<Claimer> {
    const worker = poolOf(database.worker);
    return new Claimer(worker, [`${workflow}:1`], workflow, await joinAs(worker, workflow), 5_000);
  }

  test.each([
    ['has come', '-1 hour'],
    ['comes at once', '10 ms'],
  ])('is not made to look again by an instant that %s: it can take nothing before a slot is free', async (_, after) => {
    const claimer = await fullNode('timer');
    const id = await admit(database, tenant, 'timer');
    await superuser.query(`update execution set runnable_at = clock_timestamp() + $2::interval where id = $1`, [id, after]);
    expect(await claimer.claim(0, 1, runsOn)).toEqual({ claimed: [], nextInMs: null });
  });

  test('takes what stalled as soon as the rest has finished', async () => {
    const claimer = await fullNode('stalled');
    const id = await admit(database, tenant, 'stalled');
    await superuser.query(`update execution set stalls = 3, runnable_at = clock_timestamp() - interval '1 s' where id = $1`, [id]);
    expect(await claimer.claim(0, 1, runsOn)).toEqual({ claimed: [], nextInMs: 0 });
    const { claimed } = await claimer.claim(1, 0, runsOn);
    expect(claimed.map(({ head }) => head.id)).toEqual([id]);
  });
});
