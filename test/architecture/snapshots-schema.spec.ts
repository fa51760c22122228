import { Client } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { printSchema } from '@test/support/schema-snapshot.js';
import { compareWithStored } from './stored-snapshot.js';

describe('the schema of the database', () => {
  let database: TestDatabase;
  let superuser: Client;
  beforeAll(async () => {
    database = await openTestDatabase(1);
    superuser = new Client(database.url);
    await superuser.connect();
  });
  afterAll(async () => {
    await superuser?.end();
    await database?.close();
  });

  test('is test/snapshots/schema.sql', async () => compareWithStored('test/snapshots/schema.sql', await printSchema(superuser)));

  test.each([
    ['a column', 'alter table bot add planted int'],
    ['a default', `alter table bot alter created_at set default '2026-01-01'`],
    ['what a column refers to', `comment on column bot.id is 'planted'`],
    ['an index', 'create index planted on bot (created_at)'],
    ['a constraint', 'alter table bot add constraint planted check (true)'],
    ['a policy', 'create policy planted on bot using (true)'],
    ['row-level security', 'alter table bot no force row level security'],
    ['a grant', 'grant truncate on bot to openbot_api'],
    ['an owner', 'alter table bot owner to postgres'],
    ['a storage parameter', 'alter table bot set (fillfactor = 55)'],
    ["a function's body", 'create or replace function tenant_project() returns uuid language sql stable parallel safe as $$ select null::uuid $$'],
    ["a function's security", 'alter function tenant_project() security definer'],
    ["a function's settings", 'alter function tenant_project() set search_path = public'],
    ["a function's grant", 'revoke execute on function tenant_project() from public'],
    ['a trigger', 'create trigger planted before update on bot for each row execute function suppress_redundant_updates_trigger()'],
  ])('shows %s that changed', async (_, statement) => {
    const before = await printSchema(superuser);
    await superuser.query('begin');
    await superuser.query(statement);
    const after = await printSchema(superuser);
    await superuser.query('rollback');
    expect(after).not.toBe(before);
    expect(await printSchema(superuser)).toBe(before);
  });
});
