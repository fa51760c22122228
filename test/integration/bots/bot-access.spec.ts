import { CheckBotForWorkQuery, LoadBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { rightsOf } from '@domain/access/rights.js';
import { transact } from '@platform/database/transact.js';
import { ok } from '@domain/result.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
/** The organization's owner, the bot's owner, somebody else of the organization, and somebody of another one. */
let [owner, maker, other, stranger]: Caller[] = [];
let bot: string;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  [owner, stranger] = [await app.createTenant(), await app.createTenant()];
  [maker, other] = [await app.createMember(owner), await app.createMember(owner)];
});
afterAll(async () => {
  await app.close();
  await database.close();
});
beforeEach(async () => {
  bot = (await maker!.call('POST', '/v1/bots', { name: 'Guarded' })).body['id'] as string;
});

const missing = 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8';
const share = async (rights: readonly string[]): Promise<number> => {
  const grants = rights.length > 0 ? [{ member: other!.memberId, rights }] : [];
  const { status, body } = await maker!.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants });
  expect(status).toBe(200);
  return body['revision'] as number;
};

/** Every route of a bot, with what it needs to succeed. The one that deletes comes last. */
const routes = (id: string, revision: number): [string, (caller: Caller) => Promise<Answer>][] => [
  ['read', (caller) => caller.call('GET', `/v1/bots/${id}`)],
  ['read grants', (caller) => caller.call('GET', `/v1/bots/${id}/grants`)],
  ['set grants', (caller) => caller.call('PUT', `/v1/bots/${id}/grants`, { expected: revision, grants: [] })],
  ['change', (caller) => caller.call('PATCH', `/v1/bots/${id}`, { expected: revision, name: 'Changed' })],
  ['delete', (caller) => caller.call('DELETE', `/v1/bots/${id}?expected=${revision}`)],
];

const matrix: [string, readonly string[], Record<string, number>][] = [
  ['no grant', [], { read: 404, 'read grants': 404, 'set grants': 404, change: 404, delete: 404 }],
  ['read', ['read'], { read: 200, 'read grants': 403, 'set grants': 403, change: 403, delete: 403 }],
  ['delegate', ['delegate'], { read: 200, 'read grants': 403, 'set grants': 403, change: 403, delete: 403 }],
];

test.each(matrix)('403 exactly where the same member reads the bot, else 404: %s', async (_grant, rights, expected) => {
  const revision = await share(rights);
  for (const [name, send] of routes(bot, revision)) {
    const answer = await send(other!);
    expect([name, answer.status]).toEqual([name, expected[name]]);
    if (answer.status >= 400) expect(answer.body['_tag']).toBe(answer.status === 403 ? 'Forbidden' : 'BotNotFound');
  }
  const listed = (await other!.call('GET', '/v1/bots')).body['items'] as { id: string; access: string[] }[];
  expect(listed.find(({ id }) => id === bot)?.access).toEqual(rights.length === 0 ? undefined : [...new Set(['read', ...rights])]);
});

test('200: change allows to change and to delete, and not to share', async () => {
  const revision = await share(['change']);
  expect((await other!.call('PUT', `/v1/bots/${bot}/grants`, { expected: revision, grants: [] })).status).toBe(403);
  expect((await other!.call('PATCH', `/v1/bots/${bot}`, { expected: revision, name: 'Changed' })).status).toBe(200);
  expect((await other!.call('DELETE', `/v1/bots/${bot}?expected=${revision + 1}`)).status).toBe(204);
});

test.each(['owner', 'maker'])('200: all routes are open to the %s', async (who) => {
  const caller = who === 'owner' ? owner! : maker!;
  for (const [name, send] of routes(bot, 1)) {
    // Each route needs the revision that the one before left.
    const { body } = await caller.call('GET', `/v1/bots/${bot}`);
    const [, again] = routes(bot, body['revision'] as number).find(([other]) => other === name) ?? [name, send];
    expect((await again(caller)).status).toBe(name === 'delete' ? 204 : 200);
  }
});

test('404: a bot of another tenant, an unshared, a missing, a deleted and a malformed id are byte for byte the same on every route', async () => {
  const deleted = (await other!.call('POST', '/v1/bots', { name: 'Gone' })).body['id'] as string;
  await other!.call('DELETE', `/v1/bots/${deleted}?expected=1`);
  const foreign = (await stranger!.call('POST', '/v1/bots', { name: 'Theirs' })).body['id'] as string;
  const ids = [foreign, bot, missing, deleted, 'bot_x', 'nonsense', bot.toUpperCase(), bot.replace('bot_', 'chat_')];
  for (const [name] of routes('', 1)) {
    const answers = await Promise.all(ids.map((id) => routes(id, 1).find(([route]) => route === name)![1](other!)));
    expect(answers[0]).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
    expect([name, new Set(answers.map(({ status, text }) => `${status} ${text}`)).size]).toEqual([name, 1]);
  }
  expect((await stranger!.call('GET', `/v1/bots/${foreign}`)).body).toMatchObject({ name: 'Theirs', revision: 1 });
});

test('200: grants are read as they were set, and an empty list takes them all', async () => {
  await share(['delegate', 'change']);
  const path = `/v1/bots/${bot}/grants`;
  expect((await maker!.call('GET', path)).body).toEqual({ revision: 2, grants: [{ member: other!.memberId, rights: ['delegate', 'change'] }] });
  const replaced = await maker!.call('PUT', path, {
    expected: 2,
    grants: [
      { member: other!.memberId, rights: ['read'] },
      { member: owner!.memberId, rights: ['read'] },
    ],
  });
  expect(replaced.body['grants']).toHaveLength(2);
  expect((await maker!.call('PUT', path, { expected: 3, grants: [] })).body).toEqual({ revision: 4, grants: [] });
  expect((await other!.call('GET', `/v1/bots/${bot}`)).status).toBe(404);
});

test('409: grants are set on the revision that was read', async () => {
  await share(['read']);
  expect(await maker!.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: [] })).toMatchObject({ status: 409, body: { _tag: 'BotConflict', revision: 2 } });
});

test.each([
  ['of another tenant', () => [stranger!.memberId]],
  ['that is missing', () => ['mem_01k0w3j9v7e8t9q0c5m2x4z6b8']],
  ['that is malformed', () => ['someone']],
  ['that is named twice', () => [other!.memberId, other!.memberId]],
])('400: a grant for a member %s changes nothing', async (_who, members) => {
  const grants = members().map((member) => ({ member, rights: ['read'] }));
  expect(await maker!.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants })).toMatchObject({
    status: 400,
    body: { _tag: 'GrantInvalid', field: `grants[${grants.length - 1}].member`, member: grants[0]!.member },
  });
  expect((await maker!.call('GET', `/v1/bots/${bot}/grants`)).body).toEqual({ revision: 1, grants: [] });
});

test.each([
  ['grants[0].rights', [{ rights: [] }]],
  ['grants[0].rights', [{ rights: ['share'] }]],
  ['grants[0].rights', [{ rights: ['read', 'read'] }]],
  ['grants[0].rights', [{}]],
  ['grants[0].extra', [{ rights: ['read'], extra: 1 }]],
  ['grants', 'all'],
])('400: %s is refused: %j', async (field, grants) => {
  const sent = Array.isArray(grants) ? grants.map((grant) => ({ member: other!.memberId, ...grant })) : grants;
  expect(await maker!.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: sent })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});

test('work asks for delegate: missing, forbidden and given, in a transaction of its own and in the caller’s', async () => {
  const projectId = fromPublicId('project', (await maker!.call('GET', '/v1/me')).body['project'] as string)!;
  const context = { organizationId: owner!.organizationId, projectId };
  const botId = fromPublicId('bot', bot)!;
  const asker = { memberId: fromPublicId('member', other!.memberId)!, permissions: rightsOf({ role: 'member', projectRole: null }) };
  const load = (who = asker) => app.queries.execute(new LoadBotForWorkQuery(context, who, botId));
  const check = () => transact(database.api, context, async (tx) => ok(await app.queries.execute(new CheckBotForWorkQuery(context, asker, botId, tx))));

  expect([await load(), await check()]).toEqual([
    { ok: false, failure: { _tag: 'BotNotFound' } },
    { ok: true, value: { ok: false, failure: { _tag: 'BotNotFound' } } },
  ]);
  await share(['read']);
  expect([await load(), await check()]).toEqual([
    { ok: false, failure: { _tag: 'Forbidden' } },
    { ok: true, value: { ok: false, failure: { _tag: 'Forbidden' } } },
  ]);
  expect((await maker!.call('PUT', `/v1/bots/${bot}/grants`, { expected: 2, grants: [{ member: other!.memberId, rights: ['delegate'] }] })).status).toBe(200);
  expect([await load(), await check()]).toEqual([
    { ok: true, value: { id: botId, name: 'Guarded', instructions: '', model: null, maxSteps: 50 } },
    { ok: true, value: { ok: true, value: null } },
  ]);
  expect((await load({ ...asker, memberId: fromPublicId('member', owner!.memberId)!, permissions: rightsOf({ role: 'owner', projectRole: null }) })).ok).toBe(true);
});
