import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { Environment } from '@platform/config/env.js';
import { ProvisionDevelopmentCommand } from '@contexts/sign-in/public/provision-development.command.js';
import { startTestApp, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let outside: Client;
const started: TestApp[] = [];
beforeEach(async () => {
  database = await openTestDatabase();
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((app) => app.close()));
  await outside.end();
  await database.close();
});

const start = async (env: Environment = {}): Promise<TestApp> => {
  // Each is a process of its own to the others.
  const app = await startTestApp(database, { OPENBOT_NODE: `start-${randomUUID()}`, ...env });
  started.push(app);
  return app;
};
const provision = (app: TestApp, previous: string | null = null) => app.commands.execute(new ProvisionDevelopmentCommand(previous));
const counts = async (...tables: string[]): Promise<number[]> => {
  const { rows } = await outside.query<{ n: number[] }>(`select array[${tables.map((table) => `(select count(*)::int from ${table})`).join(', ')}] as n`);
  return rows[0]!.n;
};
const openai = { OPENAI_API_KEY: 'sk-test-0000000000000000', OPENAI_MODEL: 'gpt-test' };

test('the first start makes a member that can speak with a default bot', async () => {
  const app = await start();
  const made = await provision(app);
  const call = app.as(made.token);
  expect((await call('GET', '/v1/me')).body).toMatchObject({ id: made.memberId, role: 'owner', organization: made.organizationId, project: made.projectId });
  expect((await call('GET', '/v1/me/settings')).body).toEqual({ version: 1, defaultBot: made.botId });
  expect((await call('GET', `/v1/bots/${made.botId}`)).body).toMatchObject({ owner: made.memberId, model: { provider: 'development', model: 'mock-text' } });
});

test('a second start finds everything again, and keeps a token that counts', async () => {
  const first = await provision(await start());
  expect(await provision(await start(), first.token)).toEqual(first);
  expect(await counts('organization', 'project', 'member', 'bot', 'credential')).toEqual([1, 1, 1, 1, 1]);
});

test('a start whose token no longer counts, or is another tenant’s, gives a new one', async () => {
  const app = await start();
  const first = await provision(app);
  const { body } = await app.as(first.token)('GET', '/v1/me');
  await app.as(first.token)('DELETE', `/v1/me/tokens/${body['token']}`);
  const foreign = (await app.createTenant()).token;
  for (const previous of [first.token, foreign, 'obt_nonsense', '']) {
    const again = await provision(app, previous);
    expect(again.token).not.toBe(previous);
    expect({ ...again, token: first.token }).toEqual(first);
    expect((await app.as(again.token)('GET', '/v1/me')).status).toBe(200);
  }
});

test('two processes that start at once share one organization and one bot', async () => {
  const apps = await Promise.all([start(), start()]);
  const all = await Promise.all(apps.flatMap((app) => Array.from({ length: 5 }, () => provision(app))));
  expect(new Set(all.map(({ token: _, ...identity }) => JSON.stringify(identity))).size).toBe(1);
  expect(new Set(all.map(({ token }) => token)).size).toBe(10);
  expect(await counts('organization', 'project', 'member', 'bot', 'member_setting')).toEqual([1, 1, 1, 1, 1]);
});

test('the model of the default bot follows the environment until a person chooses one', async () => {
  const simulated = await start();
  const { botId, token } = await provision(simulated);
  const bot = async (app: TestApp) => (await app.as(token)('GET', `/v1/bots/${botId}`)).body;
  // Another name is no choice of a model.
  expect((await simulated.as(token)('PATCH', `/v1/bots/${botId}`, { expected: 1, name: 'Renamed' })).status).toBe(200);

  const real = await start(openai);
  expect(await provision(real, token)).toMatchObject({ botId, token });
  expect(await bot(real)).toMatchObject({ name: 'Renamed', model: { provider: 'openai', model: 'gpt-test' }, revision: 3 });
  await provision(real, token);
  expect((await bot(real))['revision']).toBe(3);
  await provision(simulated, token);
  expect(await bot(simulated)).toMatchObject({ model: { provider: 'development' }, revision: 4 });

  await simulated.as(token)('PATCH', `/v1/bots/${botId}`, { expected: 4, model: { provider: 'development', model: 'mock-slow' } });
  await provision(real, token);
  expect(await bot(real)).toMatchObject({ model: { provider: 'development', model: 'mock-slow' }, revision: 5 });
});

test('a person’s own default bot stays, and a deleted one is replaced', async () => {
  const app = await start();
  const first = await provision(app);
  const call = app.as(first.token);
  const own = (await call('POST', '/v1/bots', { name: 'Own', model: { provider: 'development', model: 'mock-tools' } })).body['id'] as string;
  await call('PATCH', '/v1/me/settings', { expectedVersion: 1, defaultBot: own });
  expect((await provision(app, first.token)).botId).toBe(own);

  await call('DELETE', `/v1/bots/${own}?expected=1`);
  expect((await provision(app, first.token)).botId).toBe(first.botId);
  await call('DELETE', `/v1/bots/${first.botId}?expected=1`);
  const replaced = (await provision(app, first.token)).botId;
  expect([own, first.botId]).not.toContain(replaced);
  expect((await call('GET', '/v1/me/settings')).body['defaultBot']).toBe(replaced);
});

test('production refuses the development identity', async () => {
  const app = await start({ NODE_ENV: 'production' });
  await expect(provision(app)).rejects.toThrow('production');
  expect(await counts('organization')).toEqual([0]);
});

test('401: in production a token of the development organization does nothing, and the others count', async () => {
  const development = await start();
  const { token } = await provision(development);
  const other = await development.createTenant();
  const production = await start({ NODE_ENV: 'production' });
  const refused = await production.as(token)('GET', '/v1/me');
  expect(refused).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
  expect(refused.text).toBe((await production.as('obt_nonsense')('GET', '/v1/me')).text);
  expect((await production.as(other.token)('GET', '/v1/me')).status).toBe(200);
  // Nothing about the token itself was changed.
  expect((await development.as(token)('GET', '/v1/me')).status).toBe(200);
});
