import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let bot: string;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  owner = await app.createTenant();
  bot = (await owner.call('POST', '/v1/bots', { name: 'First' })).body['id'] as string;
});
afterAll(async () => {
  await app.close();
  await database.close();
});

const settings = '/v1/me/settings';
const grant = async (member: Caller, rights: string[]): Promise<void> => {
  const { body } = await owner.call('GET', `/v1/bots/${bot}`);
  const grants = rights.length > 0 ? [{ member: member.memberId, rights }] : [];
  expect((await owner.call('PUT', `/v1/bots/${bot}/grants`, { expected: body['revision'], grants })).status).toBe(200);
};

test('200: settings begin with version 0 and rise with each change', async () => {
  const member = await app.createMember(owner);
  await grant(member, ['delegate']);
  expect(await member.call('GET', settings)).toMatchObject({ status: 200, body: { version: 0, defaultBot: null } });
  expect(await member.call('PATCH', settings, { expectedVersion: 0, defaultBot: bot })).toMatchObject({ status: 200, body: { version: 1, defaultBot: bot } });
  expect((await member.call('GET', settings)).body).toEqual({ version: 1, defaultBot: bot });
  expect((await member.call('PATCH', settings, { expectedVersion: 1 })).body).toEqual({ version: 1, defaultBot: bot });
  expect((await member.call('PATCH', settings, { expectedVersion: 1, defaultBot: null })).body).toEqual({ version: 2, defaultBot: null });
});

test('409: of ten changes that read the same version one wins, and the others learn the new one', async () => {
  const member = await app.createMember(owner);
  await grant(member, ['delegate']);
  const answers = await Promise.all(Array.from({ length: 10 }, () => member.call('PATCH', settings, { expectedVersion: 0, defaultBot: bot })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const conflicts = answers.filter(({ status }) => status === 409);
  expect(conflicts).toHaveLength(9);
  for (const { body } of conflicts) expect(body).toMatchObject({ _tag: 'SettingsConflict', version: 1 });
  expect((await member.call('PATCH', settings, { expectedVersion: 5, defaultBot: bot })).status).toBe(409);
});

test('403: a bot that may only be read is no default bot', async () => {
  const member = await app.createMember(owner);
  await grant(member, ['read']);
  expect(await member.call('PATCH', settings, { expectedVersion: 0, defaultBot: bot })).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  expect((await member.call('GET', settings)).body['version']).toBe(0);
});

test('404: a bot that may not be read, is of another tenant, missing or malformed is no default bot, with one answer', async () => {
  const member = await app.createMember(owner);
  await grant(member, []);
  const stranger = await app.createTenant();
  const theirs = (await stranger.call('POST', '/v1/bots', { name: 'Theirs' })).body['id'] as string;
  const answers = await Promise.all(
    [bot, theirs, 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8', 'bot_x', '', 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8'].map((id) =>
      member.call('PATCH', settings, { expectedVersion: 0, defaultBot: id }),
    ),
  );
  expect(answers[0]).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
  answers.push(await member.call('PATCH', settings, { expectedVersion: 9, defaultBot: bot }));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
});

test('200: a default bot that was taken away or deleted reads as none', async () => {
  const member = await app.createMember(owner);
  await grant(member, ['delegate']);
  await member.call('PATCH', settings, { expectedVersion: 0, defaultBot: bot });
  await grant(member, ['read']);
  expect((await member.call('GET', settings)).body).toEqual({ version: 1, defaultBot: null });
  await grant(member, ['delegate']);
  expect((await member.call('GET', settings)).body).toEqual({ version: 1, defaultBot: bot });

  const own = (await member.call('POST', '/v1/bots', { name: 'Own' })).body['id'] as string;
  await member.call('PATCH', settings, { expectedVersion: 1, defaultBot: own });
  await member.call('DELETE', `/v1/bots/${own}?expected=1`);
  expect((await member.call('GET', settings)).body).toEqual({ version: 2, defaultBot: null });
});

test.each([
  ['expectedVersion', {}],
  ['expectedVersion', { expectedVersion: '0' }],
  ['expectedVersion', { expectedVersion: -1 }],
  ['expectedVersion', { expectedVersion: 3_000_000_000 }],
  ['defaultBot', { expectedVersion: 0, defaultBot: 7 }],
  ['planApproval', { expectedVersion: 0, planApproval: {} }],
])('400: %s is refused: %j', async (field, body) => {
  expect(await owner.call('PATCH', settings, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});
