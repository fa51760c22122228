import { newToken } from '@platform/identity/credential-text.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { Client } from 'pg';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let outside: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  owner = await app.createTenant();
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterAll(async () => {
  await app.close();
  await outside.end();
  await database.close();
});

const tokens = '/v1/me/tokens';
const me = (token: string) => app.as(token)('GET', '/v1/me');

test('201: a token is shown once, counts at once, and is stored as a hash', async () => {
  const { status, body } = await owner.call('POST', tokens, { name: 'Laptop' });
  expect(status).toBe(201);
  const token = body['token'] as string;
  expect(body).toMatchObject({ name: 'Laptop', expiresAt: null, lastUsedAt: null, id: expect.stringMatching(/^tok_/) });
  expect(token.startsWith(body['prefix'] as string)).toBe(true);
  expect((await me(token)).body).toMatchObject({ id: owner.memberId, token: body['id'], role: 'owner' });

  const listed = await owner.call('GET', tokens);
  expect(listed.text).not.toContain(token);
  expect((listed.body['items'] as { id: string }[]).map(({ id }) => id)).toContain(body['id']);
  const { rows } = await outside.query(`select credential::text as row from credential`);
  const secret = Buffer.from(token.slice(4), 'base64url').subarray(16, 40);
  for (const { row } of rows as { row: string }[]) {
    expect(row).not.toContain(token);
    expect(row).not.toContain(secret.toString('hex'));
  }
});

test('204: a revoked token is out with the next request, and its owner sees it no more', async () => {
  const { body } = await owner.call('POST', tokens, { name: 'Short' });
  const token = body['token'] as string;
  expect((await me(token)).status).toBe(200);
  // It may revoke itself.
  expect((await app.as(token)('DELETE', `${tokens}/${body['id']}`)).status).toBe(204);
  expect(await me(token)).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
  expect((await owner.call('GET', tokens)).text).not.toContain(body['id']);
});

test('a token that ends makes none that lives longer, whoever asks for how long', async () => {
  const brief = (await owner.call('POST', tokens, { name: 'Brief', expiresInMs: 3_600_000 })).body as { token: string; expiresAt: number };
  for (const wanted of [{}, { expiresInMs: 86_400_000 }]) {
    const { status, body } = await app.as(brief.token)('POST', tokens, { name: 'Longer', ...wanted });
    expect(status).toBe(201);
    expect(body['expiresAt']).toBeLessThanOrEqual(brief.expiresAt);
  }
  const account = (await owner.call('POST', '/v1/organization/service-accounts', { name: 'Program' })).body['id'] as string;
  const first = (await owner.call('POST', `/v1/organization/service-accounts/${account}/tokens`, { name: 'First', expiresInMs: 3_600_000 })).body as typeof brief;
  expect((await app.as(first.token)('POST', tokens, { name: 'Forever' })).body['expiresAt']).toBeLessThanOrEqual(first.expiresAt);
  expect((await app.as(brief.token)('POST', tokens, { name: 'Shorter', expiresInMs: 60_000 })).body['expiresAt']).toBeLessThan(brief.expiresAt - 3_000_000);
});

test("404: another member's token, a token of another tenant, a revoked, a missing and a malformed one are the same", async () => {
  const member = await app.createMember(owner);
  const stranger = await app.createTenant();
  const idOf = async (caller: Caller) => (await caller.call('GET', '/v1/me')).body['token'] as string;
  const revoked = (await owner.call('POST', tokens, { name: 'Gone' })).body['id'] as string;
  await owner.call('DELETE', `${tokens}/${revoked}`);
  const missing = revoked.slice(0, -1) + (revoked.endsWith('0') ? '1' : '0');
  const answers = await Promise.all([await idOf(member), await idOf(stranger), revoked, missing, 'tok_x', 'x'].map((id) => owner.call('DELETE', `${tokens}/${id}`)));
  expect(answers[0]).toMatchObject({ status: 404, body: { _tag: 'TokenNotFound' } });
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect([(await me(member.token)).status, (await me(stranger.token)).status]).toEqual([200, 200]);
});

test('401: an expired token, and a token of a suspended member, are as unknown ones', async () => {
  const { body } = await owner.call('POST', tokens, { name: 'Brief', expiresInMs: 3_600_000 });
  expect(body['expiresAt']).toBe((body['createdAt'] as number) + 3_600_000);
  const token = body['token'] as string;
  expect((await me(token)).status).toBe(200);
  await outside.query(`update credential set expires_at = clock_timestamp() where id = $1`, [fromPublicId('token', body['id'] as string)]);
  const expired = await me(token);

  const member = await app.createMember(owner);
  expect((await me(member.token)).status).toBe(200);
  const id = fromPublicId('member', member.memberId);
  await outside.query(`update member set suspended_at = clock_timestamp() where id = $1`, [id]);
  const suspended = await me(member.token);
  const unknown = await me(newToken(owner.organizationId).token);
  expect(expired).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
  expect(new Set([expired.text, suspended.text, unknown.text]).size).toBe(1);

  await outside.query(`update member set suspended_at = null where id = $1`, [id]);
  expect((await me(member.token)).status).toBe(200);
});

test.each([
  ['none', () => null],
  ['an empty one', () => ''],
  ['any text', () => 'secret'],
  ['a token of an organization that is not there', () => newToken('0198c0de-0000-7abc-8def-0123456789ab').token],
  ['a known prefix with another secret', () => owner.token.slice(0, 40) + newToken(owner.organizationId).token.slice(40)],
  ['a token with a mistyped character', () => owner.token.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))],
])('401: %s is no credential', async (_what, credential) => {
  expect(await app.as(credential())('GET', '/v1/me')).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
});

test('401: a prefix of this organization with the right checksum and another secret is not enough', async () => {
  const other = newToken(owner.organizationId);
  await outside.query(`update credential set prefix = $1 where id = $2`, [
    other.prefix,
    fromPublicId('token', (await owner.call('POST', tokens, { name: 'Twin' })).body['id'] as string),
  ]);
  expect((await me(other.token)).status).toBe(401);
});

test('the use of a token is recorded at most once a minute, beside the requests', async () => {
  const { body } = await owner.call('POST', tokens, { name: 'Used' });
  const id = fromPublicId('token', body['id'] as string);
  const lastUse = async (): Promise<Date | null> => (await outside.query(`select last_used_at from credential where id = $1`, [id])).rows[0].last_used_at as Date | null;
  const recorded = async (): Promise<Date> => {
    for (;;) {
      const at = await lastUse();
      if (at) return at;
    }
  };
  await Promise.all(Array.from({ length: 10 }, () => me(body['token'] as string)));
  const first = await recorded();
  await Promise.all(Array.from({ length: 10 }, () => me(body['token'] as string)));
  expect(await lastUse()).toEqual(first);

  await outside.query(`update credential set last_used_at = null where id = $1`, [id]);
  await me(body['token'] as string);
  expect((await recorded()).getTime()).toBeGreaterThan(first.getTime());
});

test('the identity of stored work follows its token and its member', async () => {
  const member = await app.createMember(owner);
  const { body } = await member.call('POST', tokens, { name: 'Work' });
  const tokenId = fromPublicId('token', body['id'] as string)!;
  const load = () => app.queries.execute(new LoadIdentityQuery({ organizationId: owner.organizationId, projectId: null }, tokenId));
  expect(await load()).toMatchObject({ memberId: fromPublicId('member', member.memberId), tokenId, role: 'member' });
  await member.call('DELETE', `${tokens}/${body['id']}`);
  expect(await load()).toBeNull();
});

test.each([
  ['name', {}],
  ['name', { name: 7 }],
  ['name', { name: 'x'.repeat(101) }],
  ['expiresInMs', { name: 'x', expiresInMs: 0 }],
  ['expiresInMs', { name: 'x', expiresInMs: null }],
  ['expiresInMs', { name: 'x', expiresInMs: 1.5 }],
  ['expiresInMs', { name: 'x', expiresInMs: 40_000_000_000 }],
  ['token', { name: 'x', token: 'mine' }],
])('400: %s is refused: %j', async (field, body) => {
  expect(await owner.call('POST', tokens, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});
