import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
/** A second project, younger than the default. */
let second: string;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  owner = await app.createTenant();
  outside = new Client({ connectionString: database.url });
  await outside.connect();
  const id = uuidv7();
  await outside.query(`insert into project (organization_id, id, name) values ($1, $2, 'Second')`, [owner.organizationId, id]);
  second = toPublicId('project', id);
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const keys = '/v1/api-keys';
type Made = { readonly id: string; readonly key: string; readonly body: Answer['body'] };
async function made(by: Caller, body: object): Promise<Made> {
  const answer = await by.call('POST', keys, { name: 'Deployments', ...body });
  if (answer.status !== 201) throw new Error(answer.text);
  return { id: answer.body['id'] as string, key: answer.body['key'] as string, body: answer.body };
}
const me = (key: string) => app.as(key)('GET', '/v1/me');
const setRole = (who: Caller, role: string) => outside.query(`update member set role = $2 where id = $1`, [fromPublicId('member', who.memberId), role]);
const load = (key: Made, projectId: string | null = null) =>
  app.queries.execute(new LoadIdentityQuery({ organizationId: owner.organizationId, projectId }, fromPublicId('apiKey', key.id)!));

test('201: a key is shown once, acts as itself, and is read without its secret', async () => {
  const { id, key, body } = await made(owner, { scopes: ['me.read', 'bots.read', 'bots.create'], expiresInMs: 3_600_000 });
  expect(body).toMatchObject({ id: expect.stringMatching(/^key_/), scopes: ['me.read', 'bots.read', 'bots.create'], projects: null, createdBy: owner.memberId, lastUsedAt: null });
  expect(key).toMatch(/^obk_/);
  expect(key.startsWith(body['prefix'] as string)).toBe(true);
  const seen = (await me(key)).body;
  expect(seen).toMatchObject({ name: 'Deployments', email: null, role: null, token: id, project: (await owner.call('GET', '/v1/me')).body['project'] });
  expect(seen['id']).not.toBe(owner.memberId);
  const bot = (await app.as(key)('POST', '/v1/bots', { name: 'Its own' })).body['id'] as string;
  expect((await app.as(key)('GET', `/v1/bots/${bot}`)).status).toBe(200);
  expect(await app.as(key)('GET', keys)).toMatchObject({ status: 403, body: { permission: 'keys.read' } });

  const [listed, read] = [await owner.call('GET', keys), await owner.call('GET', `${keys}/${id}`)];
  expect(read.body).toEqual({ ...body, key: undefined, lastUsedAt: read.body['lastUsedAt'] });
  expect(listed.text + read.text).not.toContain(key);
  const { rows } = await outside.query<{ row: string }>(`select credential::text as row from credential`);
  for (const { row } of rows) expect(row).not.toContain(Buffer.from(key.slice(4), 'base64url').subarray(16, 40).toString('hex'));
});

test('a key acts in the project of the path, else in the first that it names, or the earliest', async () => {
  const everywhere = await made(owner, { scopes: ['me.read', 'feed.read'] });
  const there = await made(owner, { scopes: ['me.read', 'feed.read'], projects: [second] });
  const first = (await me(everywhere.key)).body['project'] as string;
  expect([first === second, (await me(there.key)).body['project']]).toEqual([false, second]);
  const events = async (key: string, project: string) => (await app.as(key)('GET', `/v1/projects/${project}/events`)).status;
  expect([await events(everywhere.key, first), await events(everywhere.key, second), await events(there.key, second), await events(there.key, first)]).toEqual([
    200, 200, 200, 404,
  ]);
  const { rows } = await outside.query<{ n: number }>(`select count(*)::int as n from member where key_id = $1`, [fromPublicId('apiKey', everywhere.id)]);
  expect(rows).toEqual([{ n: 2 }]);
});

test('many first requests at once, at two servers, make one mirror, which no list of members shows', async () => {
  const other = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  try {
    const { id, key } = await made(owner, { scopes: ['me.read'] });
    const before = (await owner.call('GET', '/v1/organization/members')).text;
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? app : other).as(key)('GET', '/v1/me')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1);
    const { rows } = await outside.query<{ id: string }>(`select id from member where key_id = $1`, [fromPublicId('apiKey', id)]);
    expect(rows.map((row) => toPublicId('member', row.id))).toEqual([answers[0]!.body['id']]);
    expect((await owner.call('GET', '/v1/organization/members')).text).toBe(before);
  } finally {
    await other.close();
  }
});

test('a key may do what its maker may at that moment: demoted, suspended and removed count with the next request', async () => {
  const admin = await app.createMember(owner, 'admin');
  const id = fromPublicId('member', admin.memberId);
  const key = await made(admin, { scopes: ['me.read', 'bots.read', 'bots.create', 'models.manage'] });
  expect((await app.as(key.key)('POST', '/v1/bots', { name: 'One' })).status).toBe(201);
  await setRole(admin, 'viewer');
  expect(await app.as(key.key)('POST', '/v1/bots', { name: 'Two' })).toMatchObject({ status: 403, body: { permission: 'bots.create' } });
  expect((await app.as(key.key)('GET', '/v1/bots')).status).toBe(200);
  for (const column of ['suspended_at', 'removed_at']) {
    await outside.query(`update member set ${column} = clock_timestamp() where id = $1`, [id]);
    expect([(await me(key.key)).status, await load(key)]).toEqual([401, null]);
    await outside.query(`update member set ${column} = null where id = $1`, [id]);
    expect([(await me(key.key)).status, [...(await load(key))!.permissions].sort()]).toEqual([200, ['bots.read', 'me.read']]);
  }
});

test('403: a credential makes no key beyond itself, and the answer says what is missing', async () => {
  const scoped = (await owner.call('POST', '/v1/me/tokens', { name: 'Narrow', scopes: ['keys.manage', 'keys.read', 'bots.read'] })).body['token'] as string;
  const ask = (body: object) => app.as(scoped)('POST', keys, { name: 'K', ...body });
  expect((await ask({ scopes: ['bots.read'] })).status).toBe(201);
  expect(await ask({ scopes: ['bots.read', 'bots.create'] })).toMatchObject({
    status: 403,
    body: { _tag: 'CredentialTooWide', scopes: ['bots.create'], projects: [], allProjects: false },
  });
  const admin = await app.createMember(owner, 'admin');
  expect(await admin.call('POST', keys, { name: 'K', scopes: ['projects.delete'] })).toMatchObject({ status: 403, body: { scopes: ['projects.delete'] } });
  const wide = await made(owner, { scopes: ['bots.read', 'bots.create'] });
  expect(await app.as(scoped)('POST', `${keys}/${wide.id}/rotate`, {})).toMatchObject({ status: 403, body: { _tag: 'CredentialTooWide', scopes: ['bots.create'] } });
  // Whoever may not read keys learns of none.
  const blind = (await owner.call('POST', '/v1/me/tokens', { name: 'Blind', scopes: ['keys.manage'] })).body['token'] as string;
  expect(await app.as(blind)('POST', `${keys}/${wide.id}/rotate`, {})).toMatchObject({ status: 404, body: { _tag: 'ApiKeyNotFound' } });
});

test('403: only who made a key rotates it; others revoke it', async () => {
  const admin = await app.createMember(owner, 'admin');
  const { id, key } = await made(owner, { scopes: ['me.read'] });
  expect(await admin.call('POST', `${keys}/${id}/rotate`, {})).toMatchObject({ status: 403, body: { _tag: 'NotItsMaker' } });
  expect((await me(key)).status).toBe(200);
  expect((await admin.call('DELETE', `${keys}/${id}`)).status).toBe(204);
  expect((await me(key)).status).toBe(401);
  expect((await owner.call('GET', `${keys}/${id}`)).body).toMatchObject({ _tag: 'ApiKeyNotFound' });
});

test('a rotated key keeps its mirrors', async () => {
  const { id, key } = await made(owner, { scopes: ['me.read'] });
  const before = (await me(key)).body['id'];
  const rotated = (await owner.call('POST', `${keys}/${id}/rotate`, { overlapMs: 0 })).body;
  expect(rotated).toMatchObject({ id, previousUntil: null, key: expect.stringMatching(/^obk_/) });
  expect([(await me(key)).status, (await me(rotated['key'] as string)).body['id']]).toEqual([401, before]);
});

test('the identity of stored work follows its key, in the project of the work', async () => {
  const key = await made(owner, { scopes: ['me.read'] });
  expect(await load(key)).toBeNull();
  const { body } = await me(key.key);
  const project = fromPublicId('project', body['project'] as string)!;
  expect(await load(key, project)).toMatchObject({ credential: 'api_key', role: null, memberId: fromPublicId('member', body['id'] as string) });
  await outside.query(`update credential set projects = $2 where id = $1`, [fromPublicId('apiKey', key.id), [fromPublicId('project', second)]]);
  expect(await load(key, project)).toBeNull();
});

test.each([
  ['scopes', { name: 'K' }],
  ['scopes', { name: 'K', scopes: [] }],
  ['scopes', { name: 'K', scopes: ['unheard.of'] }],
  ['scopes', { name: 'K', scopes: ['keys.manage'] }],
  ['scopes', { name: 'K', scopes: ['tokens.create'] }],
  ['projects', { name: 'K', scopes: ['me.read'], projects: ['nowhere'] }],
])('400: %s is refused: %j', async (field, body) => {
  expect(await owner.call('POST', keys, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});

test("404: another organization's project is none", async () => {
  const stranger = await app.createTenant();
  const theirs = (await stranger.call('GET', '/v1/me')).body['project'];
  expect(await owner.call('POST', keys, { name: 'K', scopes: ['me.read'], projects: [theirs] })).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
});
