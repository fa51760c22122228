import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { startOutside, type Outside } from './outside.js';
import { startedNode, type WorkerNode } from './worker-node.js';

describe('the feed of a project whose nodes are killed', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  const nodes: WorkerNode[] = [];
  const tenant = newTenant();
  const told = (id: string) => rowsOf(superuser, `select type, aggregate_sequence as sequence from product_event where aggregate_id = $1 order by position`, [id]);
  const waiting = (id: string) => rowsOf(superuser, `select type from product_event_inbox where aggregate_id = $1`, [id]);

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    outside = await startOutside();
    await createProbeFeature(superuser);
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

  const start = async (node: string, workflow: string, debugPoint?: string): Promise<WorkerNode> => {
    const started = await startedNode(database, { node, workflows: [workflow], ...(debugPoint ? { debugPoint } : {}) });
    nodes.push(started);
    return started;
  };
  const work = async (workflow: string): Promise<string> =>
    admit(database, tenant, workflow, { steps: 1, done: 0, safety: 'repeatable', outside: outside.url }, { subjectId: await newProbe(superuser, tenant), memberId: uuidv7() });

  test('between the commit and its numbering: the event waits in the inbox, and whoever comes next numbers it once', async () => {
    const killed = await start('told', 'told', 'feed:told');
    const id = await work('told');
    expect(await killed.exited).toBe('SIGKILL');
    expect(await waiting(id)).toContainEqual({ type: 'execution.completed' });
    await start('told-next', 'told');
    await eventually(async () => (await told(id)).length === 2);
    const [head] = await rowsOf<{ sequence: number }>(superuser, 'select sequence from execution where id = $1', [id]);
    expect(await told(id)).toEqual([
      { type: 'execution.started', sequence: 1 },
      { type: 'execution.completed', sequence: head?.sequence },
    ]);
    expect(await waiting(id)).toEqual([]);
  });

  test('right after a numbering that nobody was told of: the positions stay, and go on', async () => {
    const killed = await start('numbered', 'numbered', 'feed:numbered');
    const id = await work('numbered');
    expect(await killed.exited).toBe('SIGKILL');
    await start('numbered-next', 'numbered');
    await eventually(async () => (await told(id)).length === 2);
    const positions = await rowsOf<{ position: number }>(superuser, 'select position::int from product_event where project_id = $1 order by position', [tenant.projectId]);
    expect(positions.map(({ position }) => position)).toEqual(positions.map((_, place) => place + 1));
    expect((await told(id)).map(({ type }) => type as string)).toEqual(['execution.started', 'execution.completed']);
  });
});
