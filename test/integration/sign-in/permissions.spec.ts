import { Client } from 'pg';
import { organizationRoleNames, type OrganizationRole } from '@domain/access/roles.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
let bot: string;
const of = {} as Record<OrganizationRole, Caller>;

beforeAll(async () => {
  database = await openTestDatabase();
  outside = new Client(database.url);
  await outside.connect();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  owner = await app.createTenant();
  for (const role of organizationRoleNames) of[role] = await app.createMember(owner, role);
  bot = (await owner.call('POST', '/v1/bots', { name: 'Shared' })).body['id'] as string;
  const grants = organizationRoleNames.map((role) => ({ member: of[role].memberId, rights: ['change', 'delegate'] }));
  expect((await owner.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants })).status).toBe(200);
});
afterAll(async () => {
  await outside?.end();
  await app?.close();
  await database?.close();
});

const change = { expected: 2, name: 'Changed' };
const missing = 'bot_01k0000000e00800000000000g';

test('a member changes what was granted; a viewer sees it and may not; an auditor knows of nothing', async () => {
  expect((await of.member.call('PATCH', `/v1/bots/${bot}`, change)).status).toBe(200);
  expect((await of.viewer.call('GET', `/v1/bots/${bot}`)).status).toBe(200);
  expect(await of.viewer.call('PATCH', `/v1/bots/${bot}`, change)).toMatchObject({ status: 403, body: { _tag: 'Forbidden', permission: 'bots.change' } });
  expect(await of.auditor.call('PATCH', `/v1/bots/${bot}`, change)).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
});

test('who may not know of it is answered as for a missing one, byte for byte', async () => {
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', change],
    ['POST', '/messages', { input: 'Hello', commandKey: 'hello' }],
  ] as const) {
    const [there, not] = [await of.auditor.call(method, `/v1/bots/${bot}${path}`, body), await owner.call(method, `/v1/bots/${missing}${path}`, body)];
    expect([there.status, there.text]).toEqual([404, not.text]);
  }
});

test('a viewer gives no work: nothing is stored', async () => {
  const sent = await of.viewer.call('POST', `/v1/bots/${bot}/messages`, { input: 'Hello', commandKey: 'work' });
  expect(sent).toMatchObject({ status: 403, body: { permission: 'bots.delegate' } });
  expect((await owner.call('GET', '/v1/chats')).body['items']).toEqual([]);
});

test('a route without an id says which permission is missing', async () => {
  expect(await of.viewer.call('POST', '/v1/bots', { name: 'Mine' })).toMatchObject({ status: 403, body: { permission: 'bots.create' } });
  expect(await of.auditor.call('GET', '/v1/bots')).toMatchObject({ status: 403, body: { permission: 'bots.read' } });
});

test('an admin invites people, but no owner', async () => {
  const invite = async (by: Caller, role: string): Promise<number> => (await by.call('POST', '/v1/organization/invitations', { email: `${role}@example.com`, role })).status;
  expect([await invite(of.admin, 'admin'), await invite(of.admin, 'owner'), await invite(of.member, 'viewer')]).toEqual([201, 403, 403]);
});

test('a role that shrinks counts with the next request', async () => {
  const demoted = await app.createMember(owner, 'admin');
  expect((await demoted.call('PATCH', `/v1/bots/${bot}`, { expected: 3, name: 'By an admin' })).status).toBe(200);
  await outside.query(`update member set role = 'viewer' where id = $1`, [fromPublicId('member', demoted.memberId)]);
  expect((await demoted.call('GET', `/v1/bots/${bot}`)).status).toBe(404);
});
