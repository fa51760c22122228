import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { protectTable } from '@migrations/protect-table.js';
import { read, transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

const [ours, theirs] = [0, 0].map(() => ({ organizationId: uuidv7(), projectId: uuidv7() })) as [Tenant, Tenant];
type Tenant = { readonly organizationId: string; readonly projectId: string };

let database: TestDatabase;
let admin: Client;

beforeAll(async () => {
  database = await openTestDatabase(1);
  admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query('set role openbot_owner');
  await admin.query('create table thing (organization_id uuid not null, project_id uuid not null, name text not null, primary key (organization_id, project_id, name))');
  for (const sql of protectTable('thing', 'project')) await admin.query(sql);
  await admin.query('reset role');
  await admin.query(`insert into thing values ($1, $2, 'ours'), ($3, $4, 'theirs')`, [ours.organizationId, ours.projectId, theirs.organizationId, theirs.projectId]);
});
afterAll(async () => {
  await admin?.end();
  await database?.close();
});

const things = (tenant: Tenant, text = 'select * from thing where name <> $1 order by name'): Promise<{ name: string }[]> =>
  read(database.api, tenant, (tx) => tx.query(text, ['']));
/** What the pool's one connection has prepared of a text. */
const prepared = (text: string): Promise<{ generic_plans: string; custom_plans: string }[]> =>
  database.api.query(`select generic_plans, custom_plans from pg_prepared_statements where statement = '${text.replaceAll("'", "''")}'`);

test('a statement that comes again is prepared, one that came twice is not', async () => {
  const text = 'select name from thing where name = $1';
  for (let time = 1; time <= 2; time += 1) await things(ours, text);
  expect(await prepared(text)).toEqual([]);
  for (let time = 3; time <= 12; time += 1) await things(ours, text);
  const [statement] = await prepared(text);
  expect(Number(statement?.generic_plans) + Number(statement?.custom_plans)).toBe(10);
});

test('one plan serves each tenant with its own rows, also the plan that PostgreSQL keeps', async () => {
  const text = 'select name from thing where name > $1';
  for (let time = 1; time <= 20; time += 1) {
    expect(await things(ours, text)).toEqual([{ name: 'ours' }]);
    expect(await things(theirs, text)).toEqual([{ name: 'theirs' }]);
  }
  const [statement] = await prepared(text);
  expect(Number(statement?.generic_plans)).toBeGreaterThan(0);
  expect(await database.api.query(text, [''])).toEqual([]);
});

test('a column that is added or changes its type fails no request, in no transaction', async () => {
  const write = (): Promise<unknown> =>
    transact(database.api, ours, async (tx) => {
      const [row] = await tx.query<{ name: string }[]>(`select * from thing where name = $1 for update`, ['ours']);
      return ok(row);
    });
  for (let time = 1; time <= 8; time += 1) await Promise.all([things(ours), write()]);
  for (const change of ['add column size integer', 'alter column size type bigint', 'drop column size']) {
    await admin.query(`alter table thing ${change}`);
    expect(await things(ours)).toEqual([expect.objectContaining({ name: 'ours' })]);
    expect(await write()).toMatchObject({ ok: true, value: { name: 'ours' } });
  }
});

test('statements without end do not fill the connection', async () => {
  for (let text = 0; text < 300; text += 1) for (let time = 1; time <= 3; time += 1) await things(ours, `select name, ${text} as number from thing where name > $1`);
  const [{ count }] = (await database.api.query('select count(*)::int as count from pg_prepared_statements')) as [{ count: number }];
  expect(count).toBeLessThanOrEqual(250);
  expect(await things(ours, 'select name, 299 as number from thing where name > $1')).toEqual([{ name: 'ours', number: 299 }]);
});
