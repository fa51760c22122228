import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { startOutside, type Outside } from './outside.js';
import { startedNode, type WorkerNode } from './worker-node.js';

const callers = 200;
const size = 5;

describe('a limit that two processes share', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  const nodes: WorkerNode[] = [];
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    outside = await startOutside(5);
  });
  afterAll(async () => {
    for (const node of nodes) {
      node.kill('SIGKILL');
      await node.exited;
    }
    await outside.close();
    await superuser.end();
    await database.close();
  });

  test('two hundred callers on five permits, one owner killed in the middle: never more than five are outside, and all end', async () => {
    for (const node of ['one', 'two']) nodes.push(await startedNode(database, { node, workflows: ['limited'] }));
    const subjectId = await newProbe(superuser, tenant);
    const cursor = { steps: 1, done: 0, safety: 'repeatable', outside: outside.url, limit: { name: 'crowd', size, timeoutMs: 1_000 } };
    const ids = await Promise.all(Array.from({ length: callers }, () => admit(database, tenant, 'limited', cursor, { subjectId })));
    await eventually(() => outside.sends.length >= 40);
    nodes[0]!.kill('SIGKILL');
    await nodes[0]!.exited;
    const ended = () => rowsOf<{ ended: number }>(superuser, `select count(*)::int as ended from execution where id = any ($1) and state = 'completed'`, [ids]);
    await eventually(ended, ([row]) => row?.ended === callers, 50_000);
    expect(outside.most()).toBeLessThanOrEqual(size);
    expect(outside.sends.length).toBeLessThanOrEqual(callers + size);
    expect(
      await eventually(
        () => rowsOf(superuser, `select state from permit where limit_name = 'crowd' and expires_at is null`),
        (rows) => rows.length === 0,
      ),
    ).toEqual([]);
  });
});
