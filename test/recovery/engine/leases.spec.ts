import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { partsOf } from './crash-work.js';
import { startNode } from './worker-node.js';

/** What becomes of the dead owner's lease, and what the next owner is answered. The driver knows of the thing itself only whether it is there. */
const points: readonly { readonly point: string; readonly proves: boolean; readonly left: string; readonly next: string; readonly thing: boolean }[] = [
  { point: 'lease:registered', proves: true, left: 'closed', next: 'taken', thing: false },
  { point: 'lease:registered', proves: false, left: 'unknown', next: 'unknown', thing: false },
  { point: 'lease:opened', proves: true, left: 'unknown', next: 'unknown', thing: true },
  { point: 'lease:closing', proves: true, left: 'unknown', next: 'unknown', thing: true },
  { point: 'lease:closed', proves: false, left: 'closed', next: 'taken', thing: false },
  { point: 'scope:close-failed', proves: true, left: 'unknown', next: 'unknown', thing: true },
];
const worlds = points.map((world) => ({ ...world, workflow: `lease ${world.point} ${world.proves ? 'proved' : 'not proved'}` }));

describe('an owner that dies with a physical thing', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let survivor: EngineHarness;
  const yard = mkdtempSync(join(tmpdir(), 'openbot-yard-'));
  const tenant = newTenant();
  const works = new Map<string, string>();
  const deaths = new Map<string, string>();
  const nameOf = (workflow: string): string => workflow.replace(/\W/g, '-');

  async function die({ workflow, point, proves }: (typeof worlds)[number]): Promise<void> {
    const name = nameOf(workflow);
    if (point === 'scope:close-failed') writeFileSync(join(yard, `${name}.stuck`), '');
    works.set(workflow, await admit(database, tenant, workflow, { yard, name, proves, outcome: null }));
    deaths.set(workflow, await startNode(database, { node: workflow, workflows: [workflow], debugPoint: point }).exited);
  }

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await Promise.all(worlds.map(die));
    survivor = await startEngine(database, partsOf(worlds.map(({ workflow }) => workflow)), { node: 'survivor', leaseMs: 1_500 });
  }, 120_000);
  afterAll(async () => {
    await survivor.stop();
    rmSync(yard, { recursive: true });
    await superuser.end();
    await database.close();
  });

  test.each(worlds)('$point, proves $proves: the lease is $left, the next owner gets $next', async ({ workflow, point, left, next, thing }) => {
    expect(deaths.get(workflow)).toBe('SIGKILL');
    const id = works.get(workflow) as string;
    const head = await eventually(
      async () => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!,
      ({ ended_at }) => ended_at !== null,
    );
    // One that had closed finished with the row of its phase, or died before: then the next owner took it anew.
    expect(head).toMatchObject({ state: 'completed', cursor: { outcome: next } });
    const leases = await rowsOf<{ generation: number; state: string; owner: string; error_id: string | null }>(
      superuser,
      'select generation, state, owner, error_id from resource_lease where execution_id = $1 order by opened_at',
      [id],
    );
    expect(leases[0]).toMatchObject({ generation: 1, owner: workflow, state: left });
    expect(leases[0]?.error_id === null).toBe(point !== 'scope:close-failed');
    expect(leases.slice(1)).toMatchObject(next === 'taken' ? [{ generation: 2, owner: 'survivor', state: 'closed' }] : []);
    expect(existsSync(join(yard, nameOf(workflow)))).toBe(thing);
    const diary = readFileSync(join(yard, 'diary'), 'utf8')
      .split('\n')
      .filter((line) => line.split(' ')[1] === nameOf(workflow));
    const first = { 'lease:registered': [], 'lease:closed': ['open 1', 'close 1'] }[point] ?? ['open 1'];
    expect(diary.map((line) => line.replace(` ${nameOf(workflow)}`, ''))).toEqual([...first, ...(next === 'taken' ? ['open 2', 'close 2'] : [])]);
  });
});
