import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { Admissions } from '@engine/admissions.js';
import type { NewExecution } from '@engine/admit.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, type Tenant } from '@test/support/engine.js';

describe('work that is admitted alone', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let admissions: Admissions;
  const tenants = [newTenant(), newTenant(), newTenant()] as const;
  const work = (context: Tenant, more: Partial<NewExecution> = {}): NewExecution => ({
    context,
    workflow: 'alone',
    version: 1,
    cursor: {},
    subjectId: null,
    identityId: null,
    memberId: null,
    ready: true,
    ...more,
  });
  const heads = (ids: readonly string[]) =>
    rowsOf(
      superuser,
      'select id, organization_id, project_id, workflow, state, runnable_at::text as runnable, sequence, subject_id, member_id from execution where id = any ($1) order by id',
      [ids],
    );

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    admissions = new Admissions(poolOf(database.api));
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('many callers of several tenants: each head and its first event in its own tenant, as one by one', async () => {
    const wanted = Array.from({ length: 300 }, (_, n) =>
      work(tenants[n % 3] ?? tenants[0], { ready: n % 2 === 0, subjectId: n % 5 === 0 ? uuidv7() : null, memberId: n % 7 === 0 ? uuidv7() : null }),
    );
    const transactions = async (): Promise<number> => Number((await rowsOf(superuser, 'select count(distinct xmin::text) as n from execution'))[0]?.['n']);
    const ids = await Promise.all(wanted.map((one) => admissions.admit(one)));
    expect(await transactions()).toBeLessThanOrEqual(3);

    const expected = wanted
      .map(({ context, subjectId, memberId, ready }, n) => ({
        id: ids[n],
        organization_id: context.organizationId,
        project_id: context.projectId,
        workflow: 'alone',
        state: 'queued',
        runnable: ready ? '-infinity' : null,
        sequence: 1,
        subject_id: subjectId,
        member_id: memberId,
      }))
      .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
    expect(await heads(ids)).toEqual(expected);
    const one = await admit(database, tenants[0], 'alone');
    const events = await rowsOf(superuser, 'select sequence, organization_id, project_id, type, state, claim_id, body from execution_event where execution_id = any ($1)', [
      [ids[0], one],
    ]);
    expect(events).toHaveLength(2);
    expect(events[0]).toEqual(events[1]);
  });

  test('an item that the database refuses fails alone', async () => {
    const good = [work(tenants[0]), work(tenants[1])];
    const bad = work(tenants[0], { subjectId: 'no uuid' });
    const [first, refused, second] = await Promise.allSettled([admissions.admit(good[0]!), admissions.admit(bad), admissions.admit(good[1]!)]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: '22P02' } });
    const ids = [first, second].map((settled) => (settled.status === 'fulfilled' ? settled.value : ''));
    expect(await heads(ids)).toHaveLength(2);
  });

  test('the same work handed in again is there once', async () => {
    const id = randomUUID();
    for (let send = 0; send < 3; send += 1) expect(await admissions.admit(work(tenants[2], { id }))).toBe(id);
    expect(await heads([id])).toHaveLength(1);
    expect(await rowsOf(superuser, 'select sequence from execution_event where execution_id = $1', [id])).toEqual([{ sequence: 1 }]);
  });

  test('a connection goes back without a tenant', async () => {
    await admissions.admit(work(tenants[0]));
    const { rows } = await poolOf(database.api).query(`select nullif(current_setting('app.organization', true), '') as tenant, (select count(*) from execution) as seen`);
    expect(rows).toEqual([{ tenant: null, seen: '0' }]);
  });
});
