import { read } from '@platform/database/transact.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let [mine, theirs]: Caller[] = [];
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  [mine, theirs] = [await app.createTenant(), await app.createTenant()];
  for (const tenant of [mine, theirs]) {
    const member = await app.createMember(tenant);
    const bot = (await tenant.call('POST', '/v1/bots', { name: 'Bot' })).body['id'] as string;
    await tenant.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: [{ member: member.memberId, rights: ['read'] }] });
    await tenant.call('PATCH', '/v1/me/settings', { expectedVersion: 0, defaultBot: bot });
  }
});
afterAll(async () => {
  await app.close();
  await database.close();
});

const tables = ['organization', 'project', 'member', 'credential', 'member_setting', 'bot', 'bot_grant'];

test.each(tables)('%s: without any filter a transaction sees the rows of its tenant, and no others', async (table) => {
  const column = table === 'organization' ? 'id' : 'organization_id';
  const [{ id: projectId }] = await database.api.transaction(async (tx) => {
    await tx.query(`select set_config('app.organization', $1, true)`, [mine!.organizationId]);
    return tx.query<[{ id: string }]>(`select id from project`);
  });
  const rows = await read(database.api, { organizationId: mine!.organizationId, projectId }, (tx) => tx.query<{ tenant: string }[]>(`select ${column} as tenant from ${table}`));
  expect(rows.length).toBeGreaterThan(0);
  expect(new Set(rows.map(({ tenant }) => tenant))).toEqual(new Set([mine!.organizationId]));
  expect(await database.api.query(`select 1 from ${table}`)).toEqual([]);
});
