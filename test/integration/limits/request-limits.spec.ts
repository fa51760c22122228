import { Pool } from 'pg';
import { openSse } from '@test/integration/executions/sse-client.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

let database: TestDatabase;
let superuser: Pool;
let app: TestApp;
let owner: Caller;

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
  app = await startTestApp(database, {
    OPENBOT_LIMIT_READ: '12', OPENBOT_LIMIT_WRITE: '4', OPENBOT_LIMIT_MESSAGE: '3', OPENBOT_LIMIT_ADMIN: '0', OPENBOT_LIMIT_STREAM: '20', OPENBOT_LIMIT_UNAUTHENTICATED: '5',
    OPENBOT_OPEN_STREAMS: '2', OPENBOT_TRUSTED_PROXIES: '127.0.0.0/8',
  }); // prettier-ignore
});
beforeEach(async () => {
  owner = await app.createTenant();
});
afterAll(async () => {
  await app.close();
  await superuser.end();
  await database.close();
});

const get = (path: string, token: string | null, headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers } });
const limitsOf = ({ headers }: Response) => ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => headers.get(name));

test('429: every answer says what is left, and the one too many when to come again', async () => {
  const first = await get('/v1/me', owner.token);
  expect([first.status, ...limitsOf(first)]).toEqual([200, '"read";q=12;w=60', '"read";r=11;t=5', null]);
  const missing = await get('/v1/bots/bot_0', owner.token);
  expect([missing.status, missing.headers.get('ratelimit')]).toEqual([404, expect.stringMatching(/^"read";r=10;t=(9|10)$/)]);
  for (let n = 0; n < 10; n += 1) await get('/v1/me', owner.token);
  const refused = await get('/v1/me', owner.token);
  expect(refused.status).toBe(429);
  const { retryAfterMs, ...body } = (await refused.json()) as { retryAfterMs: number };
  expect(body).toEqual({ _tag: 'RateLimited', message: 'You do this too often. Try again after the time in Retry-After.', class: 'read' });
  expect(retryAfterMs).toBeGreaterThan(0);
  expect(retryAfterMs).toBeLessThanOrEqual(5_000);
  expect(limitsOf(refused)).toEqual(['"read";q=12;w=60', expect.stringMatching(/^"read";r=0;t=\d+$/), String(Math.ceil(retryAfterMs / 1_000))]);
});

test('a class, a member and an organization have a limit each; the credentials of one member share it', async () => {
  const other = await app.createTenant();
  const second = (await owner.call('POST', '/v1/me/tokens', { name: 'Second' })).body['token'] as string;
  const member = await app.createMember(owner);
  for (let n = 0; n < 6; n += 1) for (const token of [owner.token, second]) expect((await get('/v1/me', token)).status).toBe(200);
  expect((await get('/v1/me', owner.token)).status).toBe(429);
  expect((await get('/v1/me', second)).status).toBe(429);
  expect((await get('/v1/me', member.token)).status).toBe(200);
  expect((await get('/v1/me', other.token)).status).toBe(200);
  expect((await owner.call('PATCH', '/v1/me/settings', { expectedVersion: 0, defaultBot: null })).status).toBe(200);
});

test('messages have a limit of their own, and what is turned off has none', async () => {
  const bot = (await owner.call('POST', '/v1/bots', { name: 'Planner' })).body['id'] as string;
  const send = (n: number) => owner.call('POST', `/v1/bots/${bot}/messages`, { input: 'Hello', commandKey: `message-${n}` });
  const sent = [];
  for (let n = 0; n < 4; n += 1) sent.push(await send(n));
  expect(sent.map(({ status }) => status === 429)).toEqual([false, false, false, true]);
  expect(sent[3]!.body).toMatchObject({ _tag: 'RateLimited', class: 'message' });
  const made = await Promise.all(Array.from({ length: 8 }, (_, n) => owner.call('POST', '/v1/projects', { name: `Project ${n}` })));
  expect(made.map(({ status }) => status)).toEqual(Array(8).fill(201));
});

test('what a request asks the server itself is not counted again: a refused one is told apart from a missing one', async () => {
  const viewer = await app.createMember(owner, 'viewer');
  const member = await app.createMember(owner);
  const bot = (await member.call('POST', '/v1/bots', { name: 'Planner' })).body['id'] as string;
  await member.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: [{ member: viewer.memberId, level: 'read' }] });
  const seen = (await get('/v1/me', viewer.token)).headers.get('ratelimit');
  const write = await viewer.call('PATCH', `/v1/bots/${bot}`, { expected: 1, name: 'Mine' });
  expect([403, 404]).toContain(write.status);
  expect(seen).toMatch(/r=11/);
  expect((await get('/v1/me', viewer.token)).headers.get('ratelimit')).toMatch(/r=10/);
});

test('an address has a limit for credentials that do not count, which nobody’s good one meets', async () => {
  const wrong = `${owner.token.slice(0, -6)}AAAAAA`;
  const from = (address: string, token: string | null = wrong) => get('/v1/me', token, { 'x-forwarded-for': address });
  const answers = [];
  for (let n = 0; n < 7; n += 1) answers.push((await from('2001:db8::7')).status);
  expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429]);
  const refused = await from('2001:db8::8');
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ _tag: 'RateLimited', class: 'unauthenticated' })]);
  expect((await from('203.0.113.9')).status).toBe(401);
  expect((await from('2001:db8::7', owner.token)).status).toBe(200);
  // Without a credential there is nothing to guess with.
  expect((await from('2001:db8::7', null)).status).toBe(401);
});

test('a principal holds as many streams open as are allowed, and one more when one is closed', async () => {
  const project = ((await owner.call('GET', '/v1/projects')).body['items'] as { id: string }[])[0]!.id;
  const open = () => openSse(`${app.url}/v1/projects/${project}/events/observe`, owner.token);
  const [first, second] = [await open(), await open()];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect((await open()).status).toBe(429);
  first.close();
  const third = await eventually(open, ({ status }) => status === 200);
  expect(third.status).toBe(200);
  second.close();
  third.close();
});

test('a request is a token, however many come at once, and no bucket names anybody', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => get('/v1/me', owner.token)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(12);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(18);
  const rows = await rowsOf<{ bucket: Buffer }>(superuser, 'select bucket from rate_bucket');
  for (const { bucket } of rows) expect(bucket.toString('latin1')).not.toContain('127.0.0.1');
});
