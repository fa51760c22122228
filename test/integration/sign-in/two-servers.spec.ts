import { Client } from 'pg';
import { toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Call, type Caller, type TestApp } from '@test/support/app.js';
import { Browser, goodPassword, setupLink, signedIn, type PageAnswer } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let one: TestApp;
let other: TestApp;
let outside: Client;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  [one, other] = [await startTestApp(database, { OPENBOT_ROLES: 'api', OPENBOT_NODE: 'one' }), await startTestApp(database, { OPENBOT_ROLES: 'api', OPENBOT_NODE: 'other' })];
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
beforeEach(async () => {
  owner = await one.createTenant();
  await outside.query('delete from rate_bucket');
});
afterAll(async () => {
  await Promise.all([one?.close(), other?.close()]);
  await outside?.end();
  await database?.close();
});

const ask = (app: TestApp, path: string, body: object): Promise<PageAnswer> => new Browser(app.url).ask('POST', path, { body });
const signIn = (app: TestApp, email: string, password = goodPassword): Promise<PageAnswer> =>
  ask(app, '/auth/login', { organization: toPublicId('organization', owner.organizationId), email, password });
const invite = async (by: Call, email: string): Promise<string> => {
  const { status, body, text } = await by('POST', '/v1/organization/invitations', { email, passwordSignIn: true });
  if (status !== 201) throw new Error(text);
  return (body['link'] as string).split('#token=')[1]!;
};
const on = (app: TestApp, browser: Browser): Browser => Object.assign(new Browser(app.url), { cookie: browser.cookie, csrf: browser.csrf });
const counts = async (table: 'member' | 'account', email: string): Promise<unknown> =>
  (
    await outside.query<{ count: number }>(
      table === 'member'
        ? `select count(*)::int from member where organization_id = $1 and email = $2`
        : `select count(*)::int from account join member on member.organization_id = account.organization_id and member.id = member_id where account.organization_id = $1 and email = $2`,
      [owner.organizationId, email],
    )
  ).rows[0]!.count;

test('attempts to guess a password count together, whichever server they are sent to', async () => {
  await signedIn(one, owner);
  const guess = (number: number): Promise<PageAnswer> => signIn(number % 2 === 0 ? one : other, 'olivia@example.com', `wrong giraffes ${number}`);
  let tries = 0;
  while ((await guess(tries)).status === 401) tries += 1;
  await outside.query('delete from rate_bucket');
  let alone = 0;
  while ((await signIn(one, 'olivia@example.com', `wrong giraffes ${alone}`)).status === 401) alone += 1;
  // One more where a try came back meanwhile.
  expect(tries).toBeGreaterThanOrEqual(alone);
  expect(tries).toBeLessThanOrEqual(alone + 1);
  expect((await signIn(other, 'olivia@example.com')).status).toBe(429);
});

test('a session that begins on one server is one on the other, and is over there with the request that ends it', async () => {
  const browser = await signedIn(one, owner);
  const elsewhere = on(other, browser);
  expect((await elsewhere.ask('GET', '/v1/me')).status).toBe(200);
  expect((await browser.ask('POST', '/auth/logout')).status).toBe(200);
  expect((await elsewhere.ask('GET', '/v1/me')).status).toBe(401);
});

test('an invitation that is accepted on both at once makes one member and one account', async () => {
  for (let round = 0; round < 8; round += 1) {
    const email = `ada${round}@example.com`;
    const token = await invite(owner.call, email);
    const answers = await Promise.all([one, other].map((app) => ask(app, '/auth/invitations/accept', { token, password: goodPassword })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect([await counts('member', email), await counts('account', email)]).toEqual([1, 1]);
  }
});

test('whoever is removed on one server comes in by nothing on the other, nor does anything that they made', async () => {
  const leaver = await one.createMember(owner, 'owner', 'leaver@example.com');
  const browser = await signedIn(one, leaver);
  const made = async (call: Call, path: string, body: object = { name: 'Made' }): Promise<Record<string, unknown>> => {
    const answer = await call('POST', path, body);
    if (answer.status > 201) throw new Error(answer.text);
    return answer.body;
  };
  const inBrowser: Call = async (method, path, body) => browser.ask(method, path, { body });
  const account = (await made(inBrowser, '/v1/organization/service-accounts'))['id'] as string;
  const rotated = await made(leaver.call, '/v1/me/tokens');
  const tokens = {
    token: leaver.token,
    'a secret that was rotated': rotated['token'],
    'the one that took its place': (await made(leaver.call, `/v1/me/tokens/${rotated['id'] as string}/rotate`, { overlapMs: 3_600_000 }))['token'],
    'a key': (await made(inBrowser, '/v1/api-keys', { name: 'Made', scopes: ['me.read'] }))['key'],
    'a token of a service account': (await made(inBrowser, `/v1/organization/service-accounts/${account}/tokens`))['token'],
  };
  const [invitation, link] = [await invite(inBrowser, 'friend@example.com'), await setupLink(one, leaver)];
  const ways: Readonly<Record<string, () => Promise<number>>> = {
    ...Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, async () => (await other.as(token as string)('GET', '/v1/me')).status])),
    'a session': async () => (await on(other, browser).ask('GET', '/v1/me')).status,
    'the password': async () => (await signIn(other, 'leaver@example.com')).status,
    'an invitation that they made': async () => (await ask(other, '/auth/invitations/look', { token: invitation })).status,
    // The last one: it ends the sessions before it.
    'a setup link': async () => (await ask(other, '/auth/setup', { token: link, password: goodPassword })).status,
  };
  const all = async (names = Object.keys(ways)): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for (const name of names) found[name] = await ways[name]!();
    return found;
  };
  const before = await all(Object.keys(ways).filter((name) => name !== 'a setup link'));
  expect(Object.entries(before).filter(([, status]) => status !== 200)).toEqual([]);
  expect((await owner.call('DELETE', `/v1/organization/members/${leaver.memberId}?expected=1`)).status).toBe(204);
  expect(await all()).toEqual({
    ...Object.fromEntries(Object.keys(tokens).map((name) => [name, 401])),
    'a session': 401,
    'the password': 401,
    'an invitation that they made': 404,
    'a setup link': 404,
  });
});
