import { Pool } from 'pg';
import type { Head } from '@engine/head.js';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf } from '@test/support/engine.js';
import { claimAs, commitAlone, commitBatch, itemOf, joinAs } from './by-hand.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

describe('tenancy of the engine', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let heads: Map<string, Head>;
  const [mine, theirs] = [newTenant(), newTenant()];

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
    await createProbeFeature(superuser);
  });
  beforeEach(async () => {
    for (const tenant of [mine, theirs]) await admit(database, tenant, 'tenancy', {}, { subjectId: await newProbe(superuser, tenant) });
    const claimed = await claimAs(worker, 'tenancy', await joinAs(worker, 'tenancy'), 'tenancy');
    heads = new Map(claimed.map((head) => [head.context.organizationId, head]));
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });
  const headOf = ({ organizationId }: { organizationId: string }): Head => heads.get(organizationId)!;

  test.each([
    `select * from claim_executions(array['tenancy:1'], 'n', 1, 1, false)`,
    `select * from next_ready(array['tenancy:1'])`,
    `select * from release_executions('n', 1, '{}', 1)`,
    `select * from list_owners()`,
    `select * from look_around()`,
    `select * from watch_owned('n', 1)`,
    `select * from lock_heads('{}', false)`,
    `select load_work('00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000000')`,
    `select * from commit_batch('[]', false)`,
    `select * from commit_one('{}')`,
    `select * from commit_tenant('[]', '{}')`,
    `select * from commit_heads('[]', '{}', false)`,
    `select commit_calls('[]', '{}')`,
    `select consume_signals('[]', '{}')`,
    `select commit_children('[]', '{}')`,
    `select refused_calls('[]', '{}')`,
    `select lock_aggregates('[]', false)`,
    `select * from node`,
    `update node set beat = beat + 1`,
  ])("the API's login may not: %s", async (statement) => {
    await expect(poolOf(database.api).query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test("the worker's login sees no execution outside a tenant, and its own tenant's alone inside", async () => {
    expect((await worker.query('select id from execution')).rows).toEqual([]);
    const seen = await transact(database.worker, mine, async (tx) => ok(await tx.query<{ id: string }[]>('select distinct organization_id from execution')));
    expect(seen).toEqual({ ok: true, value: [{ organization_id: mine.organizationId }] });
  });

  test("a batch of two tenants writes each item's rows under the tenant of its own head", async () => {
    const items = [mine, theirs].map((tenant) =>
      itemOf(headOf(tenant), { events: [{ t: 'Text', step: 1, attempt: 1, b: 'AAAA' }], feature: 'probe', aggregate: headOf(tenant).subjectId ?? '', rows: { number: 1 } }),
    );
    expect([...(await commitBatch(worker, items)).values()].map(({ outcome }) => outcome)).toEqual(['applied', 'applied']);
    for (const tenant of [mine, theirs])
      for (const table of ['execution_event', 'probe_row'])
        expect(await rowsOf(superuser, `select distinct organization_id, project_id from ${table} where execution_id = $1`, [headOf(tenant).id])).toEqual([
          { organization_id: tenant.organizationId, project_id: tenant.projectId },
        ]);
    expect((await worker.query(`select nullif(current_setting('app.organization', true), '') as tenant`)).rows).toEqual([{ tenant: null }]);
  });

  test("a commit that names another tenant's aggregate changes nothing of it", async () => {
    const theirProbe = headOf(theirs).subjectId ?? '';
    expect(await commitAlone(worker, itemOf(headOf(mine), { feature: 'probe', aggregate: theirProbe, rows: { number: 1 } }))).toBe('applied');
    expect(await rowsOf(superuser, 'select total from probe where id = $1', [theirProbe])).toEqual([{ total: 0 }]);
    expect(await rowsOf(superuser, 'select organization_id from probe_row where execution_id = $1', [headOf(mine).id])).toEqual([{ organization_id: mine.organizationId }]);
  });

  test("the claim of one's own work is no key to another's", async () => {
    const foreign = { ...itemOf(headOf(mine)), id: headOf(theirs).id };
    expect(await commitAlone(worker, foreign)).toBe('refused');
    expect(await rowsOf(superuser, 'select commit_number from execution where id = $1', [headOf(theirs).id])).toEqual([{ commit_number: 0 }]);
  });

  test('a head is not loaded under the wrong tenant', async () => {
    const { rows } = await worker.query('select load_work($1, $2, $3) as work', [mine.organizationId, mine.projectId, headOf(theirs).id]);
    expect(rows).toEqual([{ work: { head: null, signals: [], calls: [] } }]);
  });
});
