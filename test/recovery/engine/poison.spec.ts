import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { startOutside, type Outside } from './outside.js';
import { startNode } from './worker-node.js';

// Seven processes start one after another, and a busy machine takes its time for that.
jest.setTimeout(120_000);

describe('work that kills its process each time', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  let folder: string;
  const tenant = newTenant();
  const head = async (id: string) =>
    (
      await rowsOf<Record<string, unknown> & { stalls: number; waits: number }>(
        superuser,
        'select *, extract(epoch from runnable_at - clock_timestamp())::float as waits from execution where id = $1',
        [id],
      )
    )[0]!;
  const start = () => startNode(database, { node: 'poisoned', workflows: ['poison', 'steady'] });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openbot-poison-'));
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    outside = await startOutside();
  });
  afterAll(async () => {
    await outside.close();
    await superuser.end();
    await database.close();
    await rm(folder, { recursive: true });
  });

  test('waits and runs alone from the third time on, and fails at the sixth with the category crashes', async () => {
    const diary = join(folder, 'diary');
    await writeFile(diary, '');
    const poison = await admit(database, tenant, 'poison', { diary });
    const deaths = async () => (await readFile(diary, 'utf8')).split('\n').filter(Boolean).map(Number);
    for (let death = 1; death <= 3; death += 1) expect(await start().exited).toBe('SIGKILL');

    // Three owners died of it: now it waits, and the process lives and works.
    let node = start();
    expect(await node.said).toBe('started');
    const waiting = await head(poison);
    expect(waiting.stalls).toBe(3);
    expect(waiting.waits).toBeGreaterThan(2);
    expect(waiting.waits).toBeLessThanOrEqual(8);

    // Its time comes while other work is open: it gets the node when that is done.
    const steady: string[] = [];
    for (let index = 0; index < 5; index += 1)
      steady.push(await admit(database, tenant, 'steady', { steps: 2, done: 0, safety: 'repeatable', outside: outside.url }, { subjectId: await newProbe(superuser, tenant) }));
    outside.hold(steady);
    await eventually(() => outside.sends.length === 5);
    await superuser.query('update execution set runnable_at = clock_timestamp() where id = $1', [poison]);
    await eventually(
      async () => (await head(poison)).waits,
      (waits) => waits < 0,
    );
    outside.letGo();
    for (const id of steady)
      expect(
        await eventually(
          () => head(id),
          ({ ended_at }) => ended_at !== null,
        ),
      ).toMatchObject({ state: 'completed', generation: 1 });
    expect(await node.exited).toBe('SIGKILL');

    for (let death = 5; death <= 6; death += 1) {
      node = start();
      await node.said;
      await superuser.query('update execution set runnable_at = clock_timestamp() where id = $1 and owner is null', [poison]);
      expect(await node.exited).toBe('SIGKILL');
    }
    expect(await deaths()).toEqual([1, 1, 1, 1, 1, 1]);

    node = start();
    await node.said;
    expect((await head(poison)).stalls).toBe(6);
    await superuser.query('update execution set runnable_at = clock_timestamp() where id = $1', [poison]);
    expect(
      await eventually(
        () => head(poison),
        ({ ended_at }) => ended_at !== null,
      ),
    ).toMatchObject({ state: 'failed', failure_category: 'crashes', owner: null });
    expect(await deaths()).toHaveLength(6);
    node.kill('SIGTERM');
    expect(await node.exited).toBe('0');
  });
});
