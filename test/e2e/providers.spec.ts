import { Pool } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';
import { openServerPlace, type ServerPlace, type ServerRun } from '@test/support/server-process.js';
import { callerOf, framesOf, type ServerCaller } from './caller.js';
import { holdConversation, type Talk } from './provider-conversation.js';
import { dumpOf, findSecret, openErrorRecords } from './secrets.js';

// Each test starts servers of its own, on machines that may be busy.
jest.setTimeout(180_000);

const openaiKey = 'sk-openai-4f1c9d2e8b7a6053';
const anthropicKey = 'sk-ant-api03-93b1e07c5d2f4a68';
const connectionKey = 'gsk-compatible-7d20c4e9a1f8b356';
const model = { openai: 'gpt-5.4', anthropic: 'claude-sonnet-4-6', compatible: 'llama-large' };

/** A machine on which OpenBot is started again and again, each time with other settings. */
type Machine = {
  readonly database: TestDatabase;
  readonly outside: Pool;
  readonly place: ServerPlace;
  readonly heard: string[];
  readonly logged: string[];
  close(): Promise<void>;
};

async function openMachine(node: string): Promise<Machine> {
  const database = await openTestDatabase(2);
  const outside = new Pool({ connectionString: database.url, max: 4 });
  const place = await openServerPlace(database, { node, env: { OPENBOT_LOG_LEVEL: 'trace' } });
  const close = async (): Promise<void> => {
    await Promise.all([place.close(), outside.end()]);
    await database.close();
  };
  return { database, outside, place, heard: [], logged: [], close };
}

type Session = { readonly run: ServerRun; readonly caller: ServerCaller };
type Settings = Readonly<Record<string, string>>;

async function begin(machine: Machine, env: Settings = {}): Promise<Session> {
  const run = await machine.place.start(env);
  return { run, caller: callerOf(run.local) };
}

/** What it said and wrote is kept, to be looked through at the end. */
async function end(machine: Machine, { run, caller }: Session, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  run.signal(signal);
  const exit = await run.exited;
  machine.heard.push(...caller.heard);
  machine.logged.push(run.output());
  if (signal === 'SIGTERM') expect(exit).toEqual({ code: 0, signal: null });
}

async function during<T>(machine: Machine, env: Settings, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await begin(machine, env);
  const result = await work(session);
  await end(machine, session);
  return result;
}

const talkOf = (machine: Machine, { run, caller }: Session, provider: ScriptedProvider, more: Pick<Talk, 'api' | 'names'> & { readonly bot?: string }): Talk => ({
  caller,
  provider,
  database: machine.database,
  outside: machine.outside,
  bot: run.local.botId,
  ...more,
});

/** Every place in which a key must not lie in clear. */
async function placesOf({ database, outside, heard, logged }: Machine): Promise<Readonly<Record<string, string>>> {
  const records = await openErrorRecords(database, outside);
  return { responses: heard.join('\n'), logs: logged.join('\n'), database: await dumpOf(outside), 'error records': records.join('\n') };
}

/** The page comes whole from the server itself, takes a token, and offers to try things out; then what a newcomer does there, step by step. */
async function checkDocumentation({ run, caller }: Session): Promise<void> {
  const page = await fetch(`${run.local.url}/docs`);
  const html = await page.text();
  expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({ status: 200, type: expect.stringContaining('text/html') as string });
  const assets = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => path!);
  expect(assets.length).toBeGreaterThanOrEqual(4);
  for (const path of assets) {
    const url = new URL(path, `${run.local.url}/docs`);
    expect(url.origin).toBe(run.local.url);
    const asset = await fetch(url);
    expect({ path, status: asset.status, empty: (await asset.arrayBuffer()).byteLength === 0 }).toEqual({ path, status: 200, empty: false });
  }
  const init = await (await fetch(`${run.local.url}/docs/swagger-ui-init.js`)).text();
  expect(init).toMatch(/"tryItOutEnabled": true/);
  expect(init).toMatch(/"persistAuthorization": true/);
  const document = (await (await fetch(`${run.local.url}/openapi.json`)).json()) as { components: { securitySchemes: object }; servers: object[] };
  expect(document.servers).toEqual([{ url: '/', description: 'This server' }]);
  expect(document.components.securitySchemes).toMatchObject({ token: { type: 'http', scheme: 'bearer' } });

  const { items } = await caller.accepted('GET', '/v1/bots');
  expect(items).toEqual([expect.objectContaining({ id: run.local.botId })]);
  const receipt = await caller.send(items[0].id, 'Hello');
  expect(framesOf(await caller.observe(receipt)).at(-1)?.body).toEqual({ _tag: 'State', state: 'completed' });
  const { items: turns } = await caller.accepted('GET', `/v1/chats/${receipt.chat}/turns`);
  expect(turns).toEqual([expect.objectContaining({ id: receipt.turn, status: { _tag: 'Completed' } })]);
}

describe('a machine that gets its key later', () => {
  let machine: Machine;
  let provider: ScriptedProvider;
  let another: ScriptedProvider;
  beforeAll(async () => {
    [machine, provider, another] = await Promise.all([openMachine('later'), ScriptedProvider.start(), ScriptedProvider.start()]);
  });
  afterAll(async () => {
    await Promise.all([machine.close(), provider.close(), another.close()]);
  });
  const openai = (more: Settings = {}): Settings => ({ OPENAI_API_KEY: openaiKey, OPENAI_BASE_URL: provider.url, ...more });

  test('202: without a key the default bot is simulated, and a newcomer finds all that a first conversation needs', async () => {
    await during(machine, {}, async (session) => {
      const { run, caller } = session;
      await checkDocumentation(session);
      const receipt = await caller.send(run.local.botId, 'Hello');
      expect((await caller.endOf(receipt)).response.status).toBe('completed');
      const [attempt] = (await caller.eventsOf(receipt)).filter(({ body }) => body._tag === 'ModelAttempt');
      expect(attempt?.body).toMatchObject({ provider: 'development' });
      expect(provider.requests).toHaveLength(0);
    });
  });

  test('202: with the key in the environment of a later start, the same bot talks to OpenAI Responses, and a connection to a compatible server', async () => {
    await during(machine, openai({ OPENAI_MODEL: model.openai }), async (session) => {
      const { caller } = session;
      const connection = await caller.accepted('POST', '/v1/model-connections', {
        kind: 'openai-compatible',
        name: 'Our server',
        baseUrl: another.url,
        apiKey: connectionKey,
        models: [{ id: model.compatible }],
      });
      const bot = await caller.accepted('POST', '/v1/bots', { name: 'Connected', instructions: 'Be short.', model: { provider: connection.id, model: model.compatible } });
      const connected = talkOf(machine, session, another, { api: 'chat', bot: bot.id, names: { provider: connection.id, model: model.compatible } });
      const first = talkOf(machine, session, provider, { api: 'responses', names: { provider: 'openai', model: model.openai } });
      const [receipt] = await Promise.all([holdConversation(first), holdConversation(connected)]);
      for (const { path, headers } of provider.requests)
        expect({ path, authorization: headers.authorization }).toEqual({ path: '/v1/responses', authorization: `Bearer ${openaiKey}` });
      for (const { path, headers } of another.requests)
        expect({ path, authorization: headers.authorization }).toEqual({ path: '/v1/chat/completions', authorization: `Bearer ${connectionKey}` });
      // The stream tells what the pages tell, and ends.
      expect(framesOf(await caller.observe(receipt))).toEqual(await caller.eventsOf(receipt));

      // A refusal that quotes the key, as some servers' do, quotes it to nobody.
      for (const [server, key, talk] of [
        [provider, openaiKey, first],
        [another, connectionKey, connected],
      ] as const) {
        server.answer({ status: 401, message: `Incorrect API key provided: ${key}.`, type: 'invalid_request_error', code: 'invalid_api_key' });
        const { response } = await caller.endOf(await caller.send(talk.bot, 'Are you there?'));
        expect(response).toMatchObject({ status: 'failed', error: { category: 'model_unauthorized' } });
      }
    });
  });

  test('202: with OPENAI_API=chat the same chat goes on through chat completions', async () => {
    await during(machine, openai({ OPENAI_MODEL: model.openai, OPENAI_API: 'chat' }), async (session) => {
      await holdConversation(talkOf(machine, session, provider, { api: 'chat', names: { provider: 'openai', model: model.openai } }));
      for (const { path, headers } of provider.requests)
        expect({ path, authorization: headers.authorization }).toEqual({ path: '/v1/chat/completions', authorization: `Bearer ${openaiKey}` });
    });
  });

  test('the keys are nowhere in clear: not in responses, events, logs, error records or any column', async () => {
    const places = await placesOf(machine);
    expect(places['error records']).toContain('Incorrect API key provided');
    expect(places['responses']).toContain('model_unauthorized');
    for (const key of [openaiKey, connectionKey]) expect(findSecret(key, places)).toEqual([]);
    // The search finds what is there.
    expect(findSecret('Our server', places)).toContain('database');
  });
});

describe('a machine that has its key from the first start', () => {
  let machine: Machine;
  let provider: ScriptedProvider;
  beforeAll(async () => {
    [machine, provider] = await Promise.all([openMachine('first'), ScriptedProvider.start()]);
  });
  afterAll(async () => {
    await Promise.all([machine.close(), provider.close()]);
  });
  const anthropic = (): Settings => ({ ANTHROPIC_API_KEY: anthropicKey, ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_MODEL: model.anthropic });
  const names = { provider: 'anthropic', model: model.anthropic };

  test('202: the default bot talks to Anthropic Messages without further setup, and a limit is kept by the server that comes after a killed one', async () => {
    const session = await begin(machine, anthropic());
    await holdConversation(talkOf(machine, session, provider, { api: 'messages', names }));
    for (const { path, headers } of provider.requests) expect({ path, key: headers['x-api-key'] }).toEqual({ path: '/v1/messages', key: anthropicKey });

    provider.reset();
    provider.answer({ status: 429, headers: { 'retry-after': '3' } }, { text: ['I am back.'] });
    const receipt = await session.caller.send(session.run.local.botId, 'Wait for it.');
    await provider.request(1);
    await eventually(
      async () => (await session.caller.accepted('GET', `/v1/executions/${receipt.executionId}`)).state as string,
      (state) => state === 'waiting',
    );
    await end(machine, session, 'SIGKILL');
    await during(machine, anthropic(), async ({ caller }) => {
      expect((await caller.endOf(receipt)).response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'I am back.' }] }] });
      const [first, second] = provider.requests;
      expect(provider.requests).toHaveLength(2);
      expect(second!.at - first!.at).toBeGreaterThanOrEqual(3_000);
      expect(second!.text).toBe(first!.text);
    });
    expect(findSecret(anthropicKey, await placesOf(machine))).toEqual([]);
  });
});
