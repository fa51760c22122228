import { Client } from 'pg';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { Browser, goodPassword, signedIn, type PageAnswer } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { openSse } from '../executions/sse-client.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
let browser: Browser;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
beforeEach(async () => {
  owner = await app.createTenant();
  browser = await signedIn(app, owner);
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const signIn = async (into = new Browser(app.url), headers: Record<string, string> = {}): Promise<Browser> => {
  const body = { organization: toPublicId('organization', owner.organizationId), email: 'olivia@example.com', password: goodPassword };
  expect((await into.ask('POST', '/auth/login', { body, headers })).status).toBe(200);
  return into;
};
const me = (of: Browser): Promise<PageAnswer> => of.ask('GET', '/v1/me');
const sessions = async (of: Browser) => (await of.ask('GET', '/v1/me/sessions')).body['items'] as { id: string; current: boolean; userAgent: string | null }[];
const move = (column: 'expires_at' | 'idle_until' | 'last_used_at', to: string) =>
  outside.query(`update credential set ${column} = ${to} where organization_id = $1 and kind = 'session'`, [owner.organizationId]);

test('200: a session acts as its member, and no page and no neighbour gets at its cookie', async () => {
  const into = new Browser(app.url);
  const body = { organization: toPublicId('organization', owner.organizationId), email: 'Olivia@Example.com', password: goodPassword };
  const answer = await into.ask('POST', '/auth/login', { body });
  expect(answer.headers.get('set-cookie')).toMatch(/^__Host-openbot_session=obs_[\w-]{59}; Path=\/; Expires=[^;]+ GMT; HttpOnly; Secure; SameSite=Lax$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.text).not.toContain(into.cookie);
  expect(answer.body).toEqual({ member: owner.memberId, organization: body.organization, csrf: into.csrf, expiresAt: expect.any(Number) as number });
  expect((await me(into)).body).toMatchObject({ id: owner.memberId, role: 'owner', token: expect.stringMatching(/^ses_/) as string });
  expect((await into.ask('GET', '/auth/session')).body).toEqual(answer.body);
  const { rows } = await outside.query<{ row: string }>(`select credential::text as row from credential where kind = 'session'`);
  for (const { row } of rows) expect(row).not.toContain(Buffer.from(into.cookie!.slice(4), 'base64url').subarray(16, 40).toString('hex'));
});

test('a session is read where a token is, and a token needs no proof of a page', async () => {
  expect(await app.as(owner.token)('GET', '/auth/session')).toMatchObject({ status: 200, body: { member: owner.memberId, csrf: null, expiresAt: null } });
});

test('403: what changes something needs the proof of our page, whatever else is right', async () => {
  const other = await signIn();
  const create = (of: Browser, more: object) => of.ask('POST', '/v1/me/tokens', { body: { name: 'Laptop' }, ...more });
  for (const more of [
    { csrf: null },
    { csrf: '' },
    { csrf: other.csrf },
    { csrf: `${browser.csrf!.slice(0, -1)}${browser.csrf!.endsWith('A') ? 'E' : 'A'}` },
    { headers: { origin: 'https://evil.example' } },
    { headers: { origin: 'null' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
  ])
    expect({ more, answer: await create(browser, more) }).toMatchObject({ answer: { status: 403, body: { _tag: 'CsrfMissing' } } });
  expect((await app.as(owner.token)('GET', '/v1/me/tokens')).body['items']).toHaveLength(1);
  const own = { origin: browser.url, 'sec-fetch-site': 'same-origin' };
  expect((await create(browser, { headers: own })).status).toBe(201);
  expect((await create(browser, {})).status).toBe(201);
});

test('400: a token and a session together are refused, whatever they are worth', async () => {
  for (const authorization of [`Bearer ${owner.token}`, 'Bearer nonsense', ''])
    expect(await browser.ask('GET', '/v1/me', { headers: { authorization } })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field: 'Authorization' } });
});

test('401: a session outside of its cookie and a token inside of it are no credentials', async () => {
  expect((await app.as(browser.cookie)('GET', '/v1/me')).status).toBe(401);
  const inside = new Browser(app.url);
  inside.cookie = owner.token;
  expect((await me(inside)).status).toBe(401);
  inside.cookie = 'nonsense';
  expect((await me(inside)).status).toBe(401);
});

test.each([
  ['expires_at', 'it has lasted as long as any may'],
  ['idle_until', 'it was not used for long'],
] as const)('401: a session is over at %s: %s', async (column, _) => {
  expect((await me(browser)).status).toBe(200);
  await move(column, `clock_timestamp()`);
  expect((await me(browser)).status).toBe(401);
  expect(await sessions(await signIn())).toHaveLength(1);
});

test('its use puts off its end for want of use, once a minute, and never its last end', async () => {
  const ends = async (): Promise<{ expires_at: Date; idle_until: Date }> =>
    (await outside.query(`select expires_at, idle_until from credential where organization_id = $1 and kind = 'session'`, [owner.organizationId])).rows[0] as never;
  const before = await ends();
  expect(before.expires_at.getTime() - before.idle_until.getTime()).toBe(604_800_000 - 43_200_000);
  await move('idle_until', `clock_timestamp() + interval '1 hour'`);
  await move('last_used_at', `clock_timestamp() - interval '2 minutes'`);
  const moved = await ends();
  await me(browser);
  for (let now = await ends(); ; now = await ends()) {
    if (now.idle_until.getTime() === moved.idle_until.getTime()) continue;
    expect(now.idle_until.getTime()).toBeGreaterThan(moved.idle_until.getTime() + 36_000_000);
    expect(now.expires_at).toEqual(before.expires_at);
    break;
  }
  await move('idle_until', `clock_timestamp() + interval '1 hour'`);
  const again = await ends();
  await me(browser);
  expect(await ends()).toEqual(again);
});

test('200: signing out ends the session and takes the cookie away', async () => {
  const kept = new Browser(app.url);
  [kept.cookie, kept.csrf] = [browser.cookie, browser.csrf];
  const answer = await browser.ask('POST', '/auth/logout');
  expect(answer).toMatchObject({ status: 200, body: { providerLogout: null } });
  expect(answer.headers.get('set-cookie')).toMatch(/^__Host-openbot_session=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  expect((await me(kept)).status).toBe(401);
});

test('409: a token does not sign out', async () => {
  expect(await app.as(owner.token)('POST', '/auth/logout')).toMatchObject({ status: 409, body: { _tag: 'NotASession' } });
});

test('signing in again ends the session that the browser had, of another organization too', async () => {
  const kept = new Browser(app.url);
  [kept.cookie, kept.csrf] = [browser.cookie, browser.csrf];
  await signIn(browser);
  expect([(await me(kept)).status, (await me(browser)).status]).toEqual([401, 200]);
  [kept.cookie, kept.csrf] = [browser.cookie, browser.csrf];
  owner = await app.createTenant();
  await signedIn(app, owner);
  await signIn(browser);
  expect([(await me(kept)).status, (await me(browser)).status]).toEqual([401, 200]);
});

test('200: one lists one’s own sessions, ends one of them, or all others', async () => {
  const [second, third] = [await signIn(new Browser(app.url), { 'user-agent': 'Browser/1.0 (Ünicode)' }), await signIn()];
  const listed = await sessions(second);
  expect(listed.map(({ current }) => current)).toEqual([false, true, false]);
  expect(listed[1]).toMatchObject({ userAgent: 'Browser/1.0 (?nicode)', address: '127.0.0.1', idleUntil: expect.any(Number) as number });
  expect((await second.ask('DELETE', `/v1/me/sessions/${listed[0]!.id}`)).status).toBe(204);
  expect((await me(browser)).status).toBe(401);
  expect(await second.ask('DELETE', `/v1/me/sessions/${listed[0]!.id}`)).toMatchObject({ status: 404, body: { _tag: 'SessionNotFound' } });
  expect((await second.ask('DELETE', '/v1/me/sessions')).status).toBe(204);
  expect([(await me(second)).status, (await me(third)).status]).toEqual([200, 401]);
  expect(await sessions(second)).toHaveLength(1);
});

test("404: nobody ends a session of somebody else's by its id", async () => {
  const { id } = (await sessions(browser))[0]!;
  const member = await app.createMember(owner);
  const stranger = await signedIn(app, await app.createTenant());
  const answers = [
    await member.call('DELETE', `/v1/me/sessions/${id}`),
    await stranger.ask('DELETE', `/v1/me/sessions/${id}`),
    await stranger.ask('DELETE', '/v1/me/sessions/ses_x'),
  ];
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]!.status).toBe(404);
  expect((await me(browser)).status).toBe(200);
});

test('a member who is suspended, removed, gets another role, or is signed out by an owner has no session any more; tokens go on', async () => {
  const boss = await app.createMember(owner, 'owner');
  const path = `/v1/organization/members/${owner.memberId}`;
  const change = async (body: object) => boss.call('PATCH', path, { expected: (await boss.call('GET', path)).body['revision'], ...body });
  const acts: (() => Promise<{ status: number }>)[] = [
    () => boss.call('DELETE', `${path}/sessions`),
    () => change({ suspended: true }).then(() => change({ suspended: false })),
    () => change({ role: 'admin' }),
  ];
  for (const act of acts) {
    const open = await signIn();
    expect((await act()).status).toBeLessThan(300);
    expect((await me(open)).status).toBe(401);
    expect((await app.as(owner.token)('GET', '/v1/me')).status).toBe(200);
  }
  const open = await signIn();
  expect((await change({ name: 'Olive' })).status).toBe(200);
  expect((await me(open)).status).toBe(200);
  const revision = (await boss.call('GET', path)).body['revision'] as number;
  expect((await boss.call('DELETE', `${path}?expected=${revision}`)).status).toBe(204);
  expect((await me(open)).status).toBe(401);
  const { rows } = await outside.query(`select break_glass, password_hash, link_hash from account where member_id = $1`, [fromPublicId('member', owner.memberId)]);
  expect(rows).toEqual([{ break_glass: false, password_hash: null, link_hash: null }]);
});

test('the audit log tells who ended which session, and why', async () => {
  const told = async (): Promise<unknown[]> =>
    (
      await outside.query(`select action, detail ->> 'reason' as reason from audit_inbox where organization_id = $1 and action like 'session.%' and action <> 'session.started'`, [
        owner.organizationId,
      ])
    ).rows;
  const [second, third] = [await signIn(), await signIn()];
  await second.ask('DELETE', `/v1/me/sessions/${(await sessions(browser))[0]!.id}`);
  expect(await told()).toEqual([{ action: 'session.revoked', reason: 'owner' }]);
  await second.ask('DELETE', '/v1/me/sessions');
  expect(await told()).toHaveLength(2);
  expect((await me(third)).status).toBe(401);
  await second.ask('POST', '/auth/logout');
  expect(await told()).toContainEqual({ action: 'session.ended', reason: null });
  await signIn();
  await app.as(owner.token)('DELETE', `/v1/organization/members/${owner.memberId}/sessions`);
  expect(await told()).toContainEqual({ action: 'session.revoked', reason: 'administrator' });
});

test('403: an admin signs no owner out, and a member nobody', async () => {
  const [admin, member] = [await app.createMember(owner, 'admin'), await app.createMember(owner)];
  const path = `/v1/organization/members/${owner.memberId}/sessions`;
  for (const by of [admin, member]) expect(await by.call('DELETE', path)).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  expect((await admin.call('DELETE', `/v1/organization/members/${member.memberId}/sessions`)).status).toBe(204);
  expect((await me(browser)).status).toBe(200);
});

test('an open stream ends with its session', async () => {
  const project = (await me(browser)).body['project'] as string;
  const stream = await openSse(`${app.url}/v1/projects/${project}/events/observe`, null, { cookie: `__Host-openbot_session=${browser.cookie}` });
  expect(stream.status).toBe(200);
  await move('idle_until', 'clock_timestamp()');
  await stream.ended;
});
