import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Call, type Caller, type TestApp } from '@test/support/app.js';
import { signedIn } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { inOrder } from '@test/support/held-lock.js';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let outside: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
beforeEach(async () => {
  owner = await app.createTenant();
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

type Made = { readonly id: string; readonly secret: string; readonly createdWith: unknown; readonly call: Call };
const accounts = '/v1/organization/service-accounts';
async function make(call: Call, path = '/v1/me/tokens'): Promise<Made> {
  const { status, body, text } = await call('POST', path, { name: 'Made', ...(path === '/v1/api-keys' ? { scopes: ['me.read'] } : {}) });
  if (status !== 201) throw new Error(text);
  const secret = (body['token'] ?? body['key']) as string;
  return { id: body['id'] as string, secret, createdWith: body['createdWith'], call: app.as(secret) };
}
const account = async (): Promise<string> => (await owner.call('POST', accounts, { name: 'Program' })).body['id'] as string;
const counts = ({ call }: Made): Promise<number> => call('GET', '/v1/me').then(({ status }) => status);
const revoke = ({ id }: Made, by: Call = owner.call) => by('DELETE', `/v1/me/tokens/${id}`);

test('a token takes with it what was made with it, however far, also what was rotated since, and each is told', async () => {
  const program = await account();
  const [root, sibling] = [await make(owner.call), await make(owner.call)];
  const child = await make(root.call);
  const key = await make(child.call, '/v1/api-keys');
  const service = await make(child.call, `${accounts}/${program}/tokens`);
  const own = await make(service.call);
  const other = await make(sibling.call);
  expect([child, key, service, own].map(({ createdWith }) => createdWith)).toEqual([root.id, child.id, child.id, service.id]);
  const { body } = await child.call('POST', `/v1/me/tokens/${child.id}/rotate`, {});
  const rotated = { ...child, call: app.as(body['token'] as string) };
  const lost = [root, child, rotated, key, service, own];
  expect(await Promise.all(lost.map(counts))).toEqual(lost.map(() => 200));

  expect((await revoke(root)).status).toBe(204);
  expect(await Promise.all(lost.map(counts))).toEqual(lost.map(() => 401));
  expect(await Promise.all([sibling, other].map(counts))).toEqual([200, 200]);
  const told = await eventually(
    async () => (await owner.call('GET', '/v1/organization/audit?limit=5&action=token.revoked,key.revoked')).body['items'] as { target: string; actor: { member: string } }[],
    ({ length }) => length === 5,
  );
  expect(new Set(told.map(({ target }) => target))).toEqual(new Set([root, child, key, service, own].map(({ id }) => id)));
  expect(new Set(told.map(({ actor }) => actor.member))).toEqual(new Set([owner.memberId]));
});

test('what a session made stays when the session ends', async () => {
  const browser = await signedIn(app, owner);
  const { body } = await browser.ask('POST', '/v1/me/tokens', { body: { name: 'Laptop' } });
  expect(body['createdWith']).toBeNull();
  expect((await owner.call('DELETE', `/v1/organization/members/${owner.memberId}/sessions`)).status).toBe(204);
  expect((await browser.ask('GET', '/v1/me')).status).toBe(401);
  expect((await app.as(body['token'] as string)('GET', '/v1/me')).status).toBe(200);
});

test('what is being made at that moment ends too', async () => {
  const root = await make(owner.call);
  const child = await make(root.call);
  // What makes something with the child comes first.
  const row = { sql: 'select 1 from credential where id = $1 for update', values: [fromPublicId('token', child.id)] };
  const [made, revoked] = await inOrder(
    outside,
    row,
    () => make(child.call),
    () => revoke(root),
  );
  expect(revoked.status).toBe(204);
  expect(await counts(made)).toBe(401);
});

test('keys and tokens of accounts that a leaver made in a session are gone with them, and each is told', async () => {
  const second = await app.createMember(owner, 'owner', 'second@example.com');
  const browser = await signedIn(app, second);
  const inBrowser: Call = async (method, path, body) => browser.ask(method, path, { body });
  const program = await account();
  const [key, service] = [await make(inBrowser, '/v1/api-keys'), await make(inBrowser, `${accounts}/${program}/tokens`)];
  const own = await make(service.call);
  expect(own.createdWith).toBe(service.id);
  expect((await owner.call('DELETE', `/v1/organization/members/${second.memberId}?expected=1`)).status).toBe(204);
  expect(await Promise.all([key, service, own].map(counts))).toEqual([401, 401, 401]);
  expect((await owner.call('GET', '/v1/api-keys')).body['items']).toEqual([]);
  expect((await owner.call('GET', `${accounts}/${program}/tokens`)).body['items']).toEqual([]);
  const told = await eventually(
    async () => (await owner.call('GET', '/v1/organization/audit?limit=10&action=token.revoked,key.revoked')).body['items'] as { target: string }[],
    ({ length }) => length === 3,
  );
  expect(new Set(told.map(({ target }) => target))).toEqual(new Set([key, service, own].map(({ id }) => id)));
});
