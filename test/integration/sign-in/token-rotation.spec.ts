import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let outside: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  owner = await app.createTenant();
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const tokens = '/v1/me/tokens';
const counts = async (token: unknown): Promise<boolean> => (await app.as(String(token))('GET', '/v1/me')).status === 200;
const create = async (body: object = {}): Promise<Answer['body']> => (await owner.call('POST', tokens, { name: 'Laptop', ...body })).body;
const rotate = (id: unknown, body: object = {}) => owner.call('POST', `${tokens}/${String(id)}/rotate`, body);

test('200: a new secret counts at once, the one before for an hour, and one from before that no more', async () => {
  const first = await create({ scopes: ['me.read'] });
  const second = await rotate(first['id']);
  expect(second).toMatchObject({ status: 200, body: { id: first['id'], scopes: ['me.read'], rotatedAt: expect.any(Number), previousUntil: expect.any(Number) } });
  expect((second.body['previousUntil'] as number) - (second.body['rotatedAt'] as number)).toBe(3_600_000);
  expect([await counts(first['token']), await counts(second.body['token'])]).toEqual([true, true]);
  expect((await owner.call('GET', `${tokens}/${String(first['id'])}`)).text).not.toContain(second.body['token']);

  const third = (await rotate(first['id'])).body;
  expect([await counts(first['token']), await counts(second.body['token']), await counts(third['token'])]).toEqual([false, true, true]);
  await outside.query(`update credential set old_until = clock_timestamp() where id = $1`, [fromPublicId('token', first['id'] as string)]);
  expect([await counts(second.body['token']), await counts(third['token'])]).toEqual([false, true]);
  expect((await owner.call('GET', `${tokens}/${String(first['id'])}`)).body).toMatchObject({ previousUntil: null });
});

test('200: without an overlap the secret before ends at once, and a revocation ends both', async () => {
  const first = await create();
  const second = (await rotate(first['id'], { overlapMs: 0 })).body;
  expect([await counts(first['token']), await counts(second['token'])]).toEqual([false, true]);
  const third = (await rotate(first['id'], { overlapMs: 60_000 })).body;
  expect((await owner.call('DELETE', `${tokens}/${String(first['id'])}`)).status).toBe(204);
  expect([await counts(second['token']), await counts(third['token'])]).toEqual([false, false]);
});

test('200: of many rotations at once the last two secrets count', async () => {
  const { id } = await create();
  const secrets = (await Promise.all(Array.from({ length: 8 }, () => rotate(id)))).map(({ body }) => body['token']);
  const counted = await Promise.all(secrets.map(counts));
  expect(counted.filter(Boolean)).toHaveLength(2);
});

test('403: a narrow token neither makes nor takes what it is not, and says what is missing', async () => {
  const { project } = (await owner.call('GET', '/v1/me')).body;
  const narrow = app.as((await create({ scopes: ['tokens.create', 'tokens.read', 'me.read'], projects: [project] }))['token'] as string);
  const wide = await create();
  expect(await narrow('POST', tokens, { name: 'W', scopes: ['me.read', 'bots.read'] })).toMatchObject({
    status: 403,
    body: { _tag: 'CredentialTooWide', scopes: ['bots.read'], projects: [], allProjects: true },
  });
  expect(await narrow('POST', `${tokens}/${String(wide['id'])}/rotate`, {})).toMatchObject({ status: 403, body: { _tag: 'CredentialTooWide', allProjects: true } });
  expect(await counts(wide['token'])).toBe(true);
  expect((await narrow('POST', tokens, { name: 'N', scopes: ['me.read'], projects: [project] })).body).toMatchObject({
    scopes: ['me.read'],
    projects: [project],
    createdBy: owner.memberId,
  });
});

test('409: what has expired gets no new secret', async () => {
  const { id } = await create({ expiresInMs: 3_600_000 });
  await outside.query(`update credential set expires_at = clock_timestamp() where id = $1`, [fromPublicId('token', id as string)]);
  expect(await rotate(id)).toMatchObject({ status: 409, body: { _tag: 'CredentialExpired' } });
});

test.each([[{ overlapMs: -1 }], [{ overlapMs: 2_592_000_001 }], [{ overlapMs: null }]])('400: an overlap is none of %j', async (body) => {
  expect(await rotate('tok_01k0000000e00800000000000g', body)).toMatchObject({ status: 400, body: { field: 'overlapMs' } });
});

test.each([
  ['scopes', { scopes: ['unheard.of'] }],
  ['scopes', { scopes: ['me.read', 'me.read'] }],
  ['projects', { projects: ['proj_x'] }],
])('400: %s is refused: %j', async (field, body) => {
  expect(await owner.call('POST', tokens, { name: 'x', ...body })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});
