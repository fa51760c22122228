import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { Environment } from '@platform/config/env.js';
import type { Model } from '@core/model.js';
import { DefaultModelQuery } from '@contexts/models/public/default-model.query.js';
import { ListModelsQuery } from '@contexts/models/public/list-models.query.js';
import { ResolveModelQuery } from '@contexts/models/public/resolve-model.query.js';
import { ask, drain, finishOf, textOf } from '@test/conformance/models/conformance.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';

let database: TestDatabase;
let provider: ScriptedProvider;
const apps: TestApp[] = [];

beforeAll(async () => {
  [database, provider] = await Promise.all([openTestDatabase(), ScriptedProvider.start()]);
});
beforeEach(() => provider.reset());
afterAll(async () => {
  for (const app of apps) await app.close();
  await provider.close();
  await database.close();
});

async function start(env: Environment = {}): Promise<TestApp> {
  const app = await startTestApp(database, { OPENBOT_NODE: `models-${apps.length}`, ...env });
  apps.push(app);
  return app;
}
const contextOf = ({ organizationId }: Caller) => ({ organizationId, projectId: null });

async function resolve(app: TestApp, caller: Caller, selection: { provider: string; model: string; reasoningEffort?: string } | null): Promise<Model> {
  const found = await app.queries.execute(new ResolveModelQuery(contextOf(caller), selection));
  if (!found.ok) throw new Error(found.failure.reason);
  return found.value;
}

const usage = { input: 9, output: 3 };
const say = (text: string) => provider.answer({ text: [text.slice(0, 2), text.slice(2)], usage });

describe('without any keys', () => {
  let app: TestApp;
  let owner: Caller;
  beforeAll(async () => {
    app = await start();
    owner = await app.createTenant();
  });

  test('GET /v1/models shows the simulated ones, and the first is selected', async () => {
    const { status, body } = await owner.call('GET', '/v1/models');
    expect(status).toBe(200);
    expect(body['selected']).toEqual({ _tag: 'Config.Selection', provider: 'development', model: 'mock-text' });
    expect(body['providers']).toEqual([{ id: 'development', name: 'Development scenarios (simulated)' }]);
    expect((body['models'] as object[])[0]).toMatchObject({
      _tag: 'Config.Model',
      provider: 'development',
      id: 'mock-text',
      name: 'mock-text (simulated)',
      reasoningEfforts: [],
      serviceTiers: [],
    });
    expect((body['models'] as { id: string }[]).map(({ id }) => id)).toEqual(['mock-text', 'mock-slow', 'mock-tools', 'mock-fail']);
  });

  test('no selection is the default', async () => {
    const model = await resolve(app, owner, null);
    expect([model.provider, model.id]).toEqual(['development', 'mock-text']);
  });

  test.each([
    ['an unknown provider', { provider: 'nobody', model: 'x' }, 'provider-not-found'],
    ['a provider of the environment that is not configured', { provider: 'openai', model: 'gpt-5.4' }, 'provider-not-found'],
    ['a connection that does not exist', { provider: 'conn_01h455vb4pex5vsknk084sn02q', model: 'x' }, 'provider-not-found'],
    ['an unknown model', { provider: 'development', model: 'mock-none' }, 'model-not-found'],
    ['an option that it does not have', { provider: 'development', model: 'mock-text', reasoningEffort: 'high' }, 'unsupported-option'],
  ])('%s: %s', async (_rule, selection, reason) => {
    expect(await app.queries.execute(new ResolveModelQuery(contextOf(owner), selection))).toEqual({ ok: false, failure: { _tag: 'ChatModelInvalid', reason } });
  });
});

describe('a connection', () => {
  let app: TestApp;
  let owner: Caller;
  beforeAll(async () => {
    app = await start();
    owner = await app.createTenant();
  });

  const connect = async (more: object) =>
    (await owner.call('POST', '/v1/model-connections', { name: `C ${Math.random()}`, apiKey: 'its-own-key', baseUrl: provider.url, models: [{ id: 'm-1' }], ...more })).body;

  test.each([
    ['openai', undefined, '/v1/responses'],
    ['openai', 'chat', '/v1/chat/completions'],
    ['anthropic', undefined, '/v1/messages'],
    ['openai-compatible', undefined, '/v1/chat/completions'],
    ['openai-compatible', 'responses', '/v1/responses'],
  ])('%s (%s) is called with its key at its address', async (kind, api, path) => {
    const { id } = await connect({ kind, api });
    const model = await resolve(app, owner, { provider: id as string, model: 'm-1' });
    say('Hallo');
    const parts = await drain(model, ask('Hi'));
    expect(textOf(parts)).toBe('Hallo');
    expect(finishOf(parts).usage).toMatchObject({ inputTokens: 9, outputTokens: 3 });
    expect(model.provider).toBe(id);
    expect(provider.requests[0]).toMatchObject({ path, body: { model: 'm-1' } });
    expect(JSON.stringify(provider.requests[0]!.headers)).toContain('its-own-key');
  });

  test('a key that is copied to another connection, or into another organization, opens there for nobody', async () => {
    const stranger = await app.createTenant();
    const [mine, sibling] = [await connect({ kind: 'openai' }), await connect({ kind: 'openai' })];
    const theirs = (await stranger.call('POST', '/v1/model-connections', { kind: 'openai', name: 'C', apiKey: 'another-key', baseUrl: provider.url, models: [{ id: 'm-1' }] }))
      .body;
    const superuser = new Client(database.url);
    await superuser.connect();
    try {
      for (const [caller, { id }] of [
        [owner, sibling],
        [stranger, theirs],
      ] as const) {
        const copied = await superuser.query(
          `update model_connection to_ set sealed_key = from_.sealed_key from model_connection from_ where to_.id = $1 and from_.id = $2`,
          [id, mine['id']].map((given) => fromPublicId('connection', given as string)),
        );
        expect(copied.rowCount).toBe(1);
        await expect(resolve(app, caller, { provider: id as string, model: 'm-1' })).rejects.toThrow('a sealed value was changed or belongs elsewhere');
      }
    } finally {
      await superuser.end();
    }
    expect((await resolve(app, owner, { provider: mine['id'] as string, model: 'm-1' })).id).toBe('m-1');
  });

  test('is in the catalog of its organization alone, until it is deleted', async () => {
    const { id, name } = await connect({ kind: 'openai' });
    const stranger = await app.createTenant();
    const mine = await app.queries.execute(new ListModelsQuery(contextOf(owner)));
    expect(mine.providers).toContainEqual({ id, name });
    expect(mine.models).toContainEqual(expect.objectContaining({ _tag: 'Config.Model', provider: id, id: 'm-1' }));
    expect((await app.queries.execute(new ListModelsQuery(contextOf(stranger)))).providers).toHaveLength(1);
    const selection = { provider: id as string, model: 'm-1' };
    const notFound = { ok: false, failure: { _tag: 'ChatModelInvalid', reason: 'provider-not-found' } };
    expect(await app.queries.execute(new ResolveModelQuery(contextOf(stranger), selection))).toEqual(notFound);
    await owner.call('DELETE', `/v1/model-connections/${id as string}`);
    expect(await app.queries.execute(new ResolveModelQuery(contextOf(owner), selection))).toEqual(notFound);
  });

  test('a key that was copied to another connection does not open', async () => {
    const [from, to] = [await connect({ kind: 'openai' }), await connect({ kind: 'openai' })];
    const runner = database.api.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`select set_config('app.organization', $1, true)`, [owner.organizationId]);
    await runner.query(`update model_connection set sealed_key = (select sealed_key from model_connection where name = $1) where name = $2`, [from['name'], to['name']]);
    await runner.commitTransaction();
    await runner.release();
    await expect(resolve(app, owner, { provider: to['id'] as string, model: 'm-1' })).rejects.toThrow();
  });
});

describe('keys in the environment', () => {
  const cases: readonly (readonly [string, (url: string) => Environment, string, string, string])[] = [
    ['OpenAI', (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url }), 'openai', 'gpt-5.4', '/v1/responses'],
    [
      'OpenAI with chat completions and a model',
      (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url, OPENAI_MODEL: 'mine', OPENAI_API: 'chat' }),
      'openai',
      'mine',
      '/v1/chat/completions',
    ],
    ['Anthropic', (url) => ({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }), 'anthropic', 'claude-sonnet-4-6', '/v1/messages'],
    [
      "Anthropic with its own clients' spelling of the address",
      (url) => ({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url.replace('/v1', '') }),
      'anthropic',
      'claude-sonnet-4-6',
      '/v1/messages',
    ],
    ['both: OpenAI first', (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url, ANTHROPIC_API_KEY: 'k' }), 'openai', 'gpt-5.4', '/v1/responses'],
  ];

  test.each(cases)('%s', async (_name, env, providerId, modelId, path) => {
    const app = await start(env(provider.url));
    const owner = await app.createTenant();
    expect(await app.queries.execute(new DefaultModelQuery())).toEqual({ _tag: 'Config.Selection', provider: providerId, model: modelId });
    say('Guten Tag');
    expect(textOf(await drain(await resolve(app, owner, null), ask('Hi')))).toBe('Guten Tag');
    expect(provider.requests[0]).toMatchObject({ path, body: { model: modelId } });
  });
});
