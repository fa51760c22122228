import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { partsOf } from './crash-work.js';
import { startOutside, type Outside } from './outside.js';
import { startedNode } from './worker-node.js';

const steps = 3;
/** So long that a busy machine does not lose it before the timeline is seen: what is lost with the lease goes another way. */
const patientLeaseMs = 6_000;

describe('a process that dies on its way to another timeline', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  beforeEach(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    outside = await startOutside();
  });
  afterEach(async () => {
    await outside.close();
    await superuser.end();
    await database.close();
  });

  test.each(['timeline:changed', 'timeline:resigned'])('at %s: the next process ends its work, and nothing of it is done twice', async (debugPoint) => {
    const tenant = newTenant();
    const id = await admit(database, tenant, 'follows', { steps, done: 0, safety: 'keyed', outside: outside.url }, { subjectId: await newProbe(superuser, tenant) });
    outside.hold([id]);
    const node = await startedNode(database, { node: 'first', workflows: ['follows'], debugPoint, leaseMs: patientLeaseMs });
    await eventually(() => outside.sends.length > 0);
    await superuser.query(`create or replace function database_timeline() returns text language sql as $$ select 'another' $$`);
    expect(await node.exited).toBe('SIGKILL');
    outside.letGo();
    const survivor = await startEngine(database, partsOf(['follows']), { node: 'second', leaseMs: 1_500 });
    try {
      const [head] = await eventually(
        () => rowsOf(superuser, 'select * from execution where id = $1', [id]),
        ([found]) => found?.['ended_at'] != null,
      );
      expect(head).toMatchObject({ state: 'completed', cursor: { done: steps }, failure_category: null });
      expect(new Set(outside.sends.map(({ key }) => key)).size).toBe(steps);
      expect((await rowsOf(superuser, 'select number from probe_row where execution_id = $1 order by 1', [id])).map((row) => row['number'])).toEqual([1, 2, 3, 4]);
      const log = await logOf(superuser, survivor.sealing, tenant.organizationId, id);
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
      expect(survivor.errors).toEqual([]);
    } finally {
      await survivor.stop();
    }
  });
});
