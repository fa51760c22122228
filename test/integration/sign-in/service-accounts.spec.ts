import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
let admin: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  owner = await app.createTenant();
  admin = await app.createMember(owner, 'admin');
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const accounts = '/v1/organization/service-accounts';
const created = async (by: Caller, body: object = {}): Promise<string> => (await by.call('POST', accounts, { name: 'Deployments', ...body })).body['id'] as string;
const tokenOf = async (by: Caller, account: string, body: object = {}) => (await by.call('POST', `${accounts}/${account}/tokens`, { name: 'First', ...body })).body;

test('201: a program acts by a token of its account, within the role of the account', async () => {
  const account = await created(admin);
  const { token, id } = await tokenOf(admin, account);
  const program = app.as(token as string);
  expect((await program('GET', '/v1/me')).body).toMatchObject({ id: account, name: 'Deployments', email: null, role: 'member', token: id });
  expect((await program('POST', '/v1/bots', { name: 'Mine' })).status).toBe(201);
  expect(await program('POST', '/v1/model-connections', { kind: 'openai', name: 'x', apiKey: 'sk', models: [] })).toMatchObject({ status: 403 });
  expect((await owner.call('GET', accounts)).body['items']).toContainEqual(expect.objectContaining({ id: account, name: 'Deployments', role: 'member', suspended: false }));
  const listed = await admin.call('GET', `${accounts}/${account}/tokens`);
  expect(listed.body['items']).toMatchObject([{ id, createdBy: admin.memberId }]);
  expect(listed.text).not.toContain(token);
});

test('its tokens never may more than who made them, also not those that it makes for itself', async () => {
  const maker = await app.createMember(owner, 'admin');
  const account = await created(owner, { role: 'admin' });
  const { token } = await tokenOf(maker, account);
  const own = (await app.as(token as string)('POST', '/v1/me/tokens', { name: 'Own' })).body;
  expect(own['createdBy']).toBe(maker.memberId);
  const makesBots = async (secret: unknown) => (await app.as(String(secret))('POST', '/v1/bots', { name: 'B' })).status;
  expect([await makesBots(token), await makesBots(own['token'])]).toEqual([201, 201]);
  await outside.query(`update member set role = 'viewer' where id = $1`, [fromPublicId('member', maker.memberId)]);
  expect([await makesBots(token), await makesBots(own['token'])]).toEqual([403, 403]);
  await outside.query(`update member set suspended_at = clock_timestamp() where id = $1`, [fromPublicId('member', maker.memberId)]);
  expect([await makesBots(token), await makesBots(own['token'])]).toEqual([401, 401]);
});

test('403: a program makes no keys, invites nobody and makes no accounts, whatever its role', async () => {
  const account = await created(owner, { role: 'admin' });
  const program = app.as((await tokenOf(owner, account))['token'] as string);
  for (const [path, body] of [
    ['/v1/api-keys', { name: 'K', scopes: ['me.read'] }],
    ['/v1/organization/invitations', { email: 'm@example.com' }],
    [accounts, { name: 'A' }],
  ] as const)
    expect((await program('POST', path, body)).status).toBe(403);
});

test('rotation and revocation are for the tokens of accounts: the tokens of people are not found this way', async () => {
  const account = await created(admin);
  const { id, token } = await tokenOf(admin, account);
  const rotated = await admin.call('POST', `${accounts}/${account}/tokens/${String(id)}/rotate`, { overlapMs: 0 });
  expect(rotated).toMatchObject({ status: 200, body: { id } });
  const counts = async (secret: unknown) => (await app.as(String(secret))('GET', '/v1/me')).status;
  expect([await counts(token), await counts(rotated.body['token'])]).toEqual([401, 200]);
  expect(await owner.call('POST', `${accounts}/${account}/tokens/${String(id)}/rotate`, {})).toMatchObject({ status: 403, body: { _tag: 'NotItsMaker' } });
  expect((await owner.call('DELETE', `${accounts}/${account}/tokens/${String(id)}`)).status).toBe(204);
  expect(await counts(rotated.body['token'])).toBe(401);

  const persons = (await admin.call('GET', '/v1/me')).body['token'] as string;
  expect(await owner.call('POST', `${accounts}/${admin.memberId}/tokens`, { name: 'x' })).toMatchObject({ status: 404, body: { _tag: 'ServiceAccountNotFound' } });
  expect(await owner.call('DELETE', `${accounts}/${admin.memberId}/tokens/${persons}`)).toMatchObject({ status: 404, body: { _tag: 'TokenNotFound' } });
  expect(await counts(admin.token)).toBe(200);
});

test('409: an account does not become an owner, whoever asks', async () => {
  const account = await created(owner);
  const changed = (body: object) => owner.call('PATCH', `/v1/organization/members/${account}`, { expected: 1, ...body });
  expect(await changed({ role: 'owner' })).toMatchObject({ status: 409, body: { _tag: 'OwnerIsNoPerson' } });
  expect(await changed({ role: 'admin' })).toMatchObject({ status: 200, body: { role: 'admin' } });
});

test('403: nobody makes an account that may do more than they may; 400: none is an owner', async () => {
  expect((await owner.call('POST', accounts, { name: 'x', role: 'owner' })).status).toBe(400);
  const member = await app.createMember(owner);
  expect((await member.call('POST', accounts, { name: 'x', role: 'viewer' })).status).toBe(403);
  const scoped = (await admin.call('POST', '/v1/me/tokens', { name: 'S', scopes: ['members.create', 'bots.read'] })).body['token'] as string;
  expect(await app.as(scoped)('POST', accounts, { name: 'x', role: 'viewer' })).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
});
