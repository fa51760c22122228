import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { admitExecution } from '@engine/admit.js';
import { holdMember, revokeWork } from '@engine/executions.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createFamilyFeature, familyHandlers, familySaga, type FamilyCursor } from './family-feature.js';

let database: TestDatabase;
let superuser: Pool;
let engine: EngineHarness;
const tenant = newTenant();
const elsewhere = { ...tenant, projectId: uuidv7() };
const stranger = newTenant();
const projects = [tenant.projectId, elsewhere.projectId, stranger.projectId];

beforeAll(async () => {
  database = await openTestDatabase(2);
  superuser = new Pool({ connectionString: database.url });
  await createFamilyFeature(superuser);
  engine = await startEngine(database, [...familyHandlers, familySaga('family')]);
});
afterAll(async () => {
  await engine.stop();
  await superuser.end();
  await database.close();
});

type Row = { readonly id: string; readonly state: string; readonly failure_category: string | null; readonly open_children: number };
const familyOf = (id: string): Promise<Row[]> =>
  rowsOf<Row>(superuser, 'select id, state, failure_category, open_children from execution where id = $1 or parent_id = $1 order by id = $1 desc', [id]);
const waiting = (id: string, size = 1): Promise<Row[]> =>
  eventually(
    () => familyOf(id),
    (rows) => rows.length === size && rows.every(({ state }) => state === 'waiting'),
  );
const ended = (id: string): Promise<Row[]> =>
  eventually(
    () => familyOf(id),
    (rows) => rows.every(({ state }) => ['failed', 'cancelled', 'completed'].includes(state)),
  );
const revoke = async (memberId: string, of = projects): Promise<readonly string[]> => {
  const revoked = await transact(database.api, tenant, async (tx) => ok(await revokeWork(tx, { members: [memberId], projects: of })));
  engine.wake.publish(revoked.ok ? revoked.value : []);
  return revoked.ok ? revoked.value : [];
};
const holds: FamilyCursor = { holds: true };
const whose = (memberId: string, more: object = {}) => ({ memberId, identityId: uuidv7(), ...more });
const revokedEnd = { state: 'failed', failure_category: 'identity_revoked' };

test('work that waits, that was not let go yet, and in every project of the organization: all of it ends, and nobody else’s', async () => {
  const [member, other] = [uuidv7(), uuidv7()];
  const [waits, far, unready] = await Promise.all([
    admit(database, tenant, 'family', holds, whose(member)),
    admit(database, elsewhere, 'family', holds, whose(member)),
    admit(database, tenant, 'family', holds, whose(member, { ready: false })),
  ]);
  const [theirs, foreign] = await Promise.all([admit(database, tenant, 'family', holds, whose(other)), admit(database, stranger, 'family', holds, whose(member))]);
  await Promise.all([waits, far, theirs, foreign].map((id) => waiting(id)));
  expect([...(await revoke(member))].sort()).toEqual([waits, far, unready].sort());
  for (const id of [waits, far, unready]) expect(await ended(id)).toMatchObject([revokedEnd]);
  expect(await revoke(member)).toEqual([]);
  for (const id of [theirs, foreign]) expect(await familyOf(id)).toMatchObject([{ state: 'waiting' }]);
});

test('only in the projects that are named', async () => {
  const member = uuidv7();
  const [here, there] = await Promise.all([admit(database, tenant, 'family', holds, whose(member)), admit(database, elsewhere, 'family', holds, whose(member))]);
  await Promise.all([here, there].map((id) => waiting(id)));
  expect(await revoke(member, [elsewhere.projectId])).toEqual([there]);
  expect(await ended(there)).toMatchObject([revokedEnd]);
  expect(await familyOf(here)).toMatchObject([{ state: 'waiting' }]);
});

test('work with children: they end first, attached and detached alike, and each says why', async () => {
  const member = uuidv7();
  const children = [
    { attached: true, cursor: holds },
    { attached: false, cursor: holds },
  ];
  const id = await admit(database, tenant, 'family', { holds: true, children } satisfies FamilyCursor, whose(member));
  await waiting(id, 3);
  expect(await revoke(member)).toHaveLength(3);
  expect(await ended(id)).toMatchObject([{ ...revokedEnd, open_children: 0 }, revokedEnd, revokedEnd]);
});

test('work that is admitted at the same time is seen by whoever takes the rights away', async () => {
  const member = uuidv7();
  const client = await poolOf(database.api).connect();
  await client.query(`begin; select set_config('app.organization', '${tenant.organizationId}', true), set_config('app.project', '${tenant.projectId}', true)`);
  const tx = { query: async (sql: string, values: unknown[]) => (await client.query(sql, values)).rows } as unknown as Parameters<typeof holdMember>[0];
  await holdMember(tx, member);
  const id = await admitExecution(tx, { context: tenant, workflow: 'family', version: 1, cursor: holds, subjectId: null, ...whose(member), ready: true });
  const revoked = revoke(member);
  await eventually(
    () => rowsOf(superuser, `select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`),
    (rows) => rows.length === 1,
  );
  await client.query('commit');
  client.release();
  expect(await revoked).toEqual([id]);
  expect(await ended(id)).toMatchObject([revokedEnd]);
});
