import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test('the two logins are bound by row-level security and own nothing', async () => {
  const [row] = (await database.api.query(`select current_user as login, rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user`)) as object[];
  expect(row).toEqual({ login: 'openbot_api', unbound: false });
});
