import { Pool } from 'pg';
import { childIdOf } from '@engine/child.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createFamilyFeature, type FamilyCursor } from '../../integration/engine/family-feature.js';
import { partsOf } from './crash-work.js';
import { startNode } from './worker-node.js';

const leaf: FamilyCursor = {};
const held: FamilyCursor = { holds: true };
const attached = (...cursors: FamilyCursor[]) => cursors.map((cursor) => ({ attached: true, cursor }));

/** Completes after its children, one of which has one of its own. */
const completes: FamilyCursor = { children: attached(leaf, { children: attached(leaf), by: 'transact' }) };
/** Fails while its children wait for something that never comes, and ends when they have stopped. */
const fails: FamilyCursor = { as: 'throws', children: attached(held, held), by: 'finish' };

const worlds = (
  [
    ['completes', completes, ['child:admitted', 'child:admitted#2', 'child:end-before', 'child:end-locked', 'child:end-after', 'child:end-after#2', 'end:before#4']],
    ['fails', fails, ['child:admitted', 'cascade:locked', 'cascade:after', 'child:end-before', 'child:end-locked#2', 'child:end-after', 'child:end-after#2']],
  ] as const
).flatMap(([kind, cursor, points]) => points.map((point) => ({ kind, cursor, point, workflow: `family ${kind} ${point}` })));

describe('a process that dies with a family', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let survivor: EngineHarness;
  const tenant = newTenant();
  const works = new Map<string, string>();
  const deaths = new Map<string, string>();
  /** The reason that was stored when the process died. */
  const reasons = new Map<string, string | null>();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createFamilyFeature(superuser);
    const waiting = [...worlds];
    const die = async ({ workflow, cursor, point }: (typeof worlds)[number]): Promise<void> => {
      const id = await admit(database, tenant, workflow, cursor);
      works.set(workflow, id);
      const node = startNode(database, { node: workflow, workflows: [workflow], debugPoint: point });
      deaths.set(workflow, await node.exited);
      reasons.set(workflow, (await head(id))['error_id'] as string | null);
    };
    await Promise.all(
      Array.from({ length: 3 }, async () => {
        for (let world = waiting.shift(); world; world = waiting.shift()) await die(world);
      }),
    );
    survivor = await startEngine(database, partsOf(worlds.map(({ workflow }) => workflow)), { node: 'survivor', leaseMs: 1_500 });
  }, 180_000);
  afterAll(async () => {
    await survivor.stop();
    await superuser.end();
    await database.close();
  });

  test.each(worlds)('$kind, $point', async ({ workflow, kind, point }) => {
    expect(deaths.get(workflow)).toBe('SIGKILL');
    const id = works.get(workflow) as string;
    const parent = await eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
      30_000,
    );
    const below = await rowsOf(superuser, 'select * from execution where workflow = $1 and id <> $2 order by created_at', [workflow, id]);
    const notices = await rowsOf(superuser, 'select n.execution_id from family_notice n join execution x on x.id = n.execution_id where x.workflow = $1', [workflow]);

    // Each end was saved once, whoever did it, and told once.
    expect(notices.map(({ execution_id }) => execution_id as string).sort()).toEqual([id, ...below.map((row) => row['id'] as string)].sort());
    for (const row of [parent, ...below]) {
      expect(row).toMatchObject({ open_children: 0, owner: null });
      const told = await rowsOf(superuser, `select 1 from execution_signal where execution_id = $1 and name = 'child-ended'`, [row['id']]);
      expect(told).toHaveLength(below.filter(({ parent_id }) => parent_id === row['id']).length);
      const log = await logOf(superuser, survivor.sealing, tenant.organizationId, row['id'] as string);
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
      expect(log.filter((event) => event._tag === 'State' && event.state === row['state'])).toHaveLength(1);
    }

    const [first, second] = [childIdOf(id, 'child 0'), childIdOf(id, 'child 1')];
    if (kind === 'completes') {
      expect(below.map((row) => row['id'] as string).sort()).toEqual([first, second, childIdOf(second, 'child 0')].sort());
      for (const row of [parent, ...below]) expect(row).toMatchObject({ state: 'completed', cancel_number: 0 });
      return;
    }
    expect(below.map((row) => row['id'] as string).sort()).toEqual([first, second].sort());
    for (const row of below) expect(row).toMatchObject({ state: 'cancelled', cancel_number: 1 });
    expect(parent).toMatchObject({ state: 'failed', failure_category: 'internal' });
    // The reason of an end that waits is stored with the question to the children, and is the one that the end has.
    const before = !['child:admitted', 'cascade:locked'].includes(point);
    expect(reasons.get(workflow)).toEqual(before ? parent['error_id'] : null);
    const failures = (await logOf(superuser, survivor.sealing, tenant.organizationId, id)).filter(({ _tag }) => _tag === 'Failure');
    expect(failures).toEqual([expect.objectContaining({ errorId: `err_${String(parent['error_id'])}` })]);
  });
});
