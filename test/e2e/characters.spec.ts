import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { startTestApp, type TestApp } from '@test/support/app.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';
import { callerOf, framesOf, type Receipt, type ServerCaller } from './caller.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
jest.setTimeout(120_000);

let database: TestDatabase;
let provider: ScriptedProvider;
beforeAll(async () => {
  [database, provider] = await Promise.all([openTestDatabase(4), ScriptedProvider.start()]);
});
afterAll(async () => {
  await provider.close();
  await database.close();
});

/** NUL, halves of characters together and alone, control characters, more than one code point for one sign, and text that runs the other way. */
const deltas = ['a\u0000b ', 'pair \ud83d', '\ude00 ', 'low \udc00 ', 'high \ud800', ' \u0001\u001b[31m\u007f\u0085\u2028 ', '🧑‍🚀 𝒳 ', 'שלום \u202eabc\u202c \uffff\ufdd0'];
const stored = 'a\ufffdb pair 😀 low \ufffd high \ufffd \u0001\u001b[31m\u007f\u0085\u2028 🧑‍🚀 𝒳 שלום \u202eabc\u202c \uffff\ufdd0';
/** What people may send arrives as they sent it. */
const input = 'Hi \u0001\u001b[31m\u2028 🧑‍🚀 𝒳 שלום \u202eabc\u202c';

const todo = { id: 'a\u0000', content: 'x\u0000y \ud83d 🗼 \u202e', status: 'done' };
const storedTodo = { id: 'a\ufffd', content: 'x\ufffdy \ufffd 🗼 \u202e', status: 'done' };
const calls = [
  { id: 'call_1', name: 'openbot_todos', arguments: JSON.stringify({ items: [todo, { id: 'b', content: 'open', status: 'done' }] }) },
  { id: 'call\u0000\ud800', name: 'no\u0000such \udc00tool.🗼', arguments: JSON.stringify({ ['k\u0000\ud800']: '\udc00' }) },
  { id: 'call_3', name: 'openbot_todos', arguments: '{"items":"\u0000\ud800' },
];

/** Where a value holds what PostgreSQL or UTF-8 cannot. */
function unstorableIn(value: unknown, at = ''): string[] {
  if (typeof value === 'string') return /[\0\p{Surrogate}]/u.test(value) ? [`${at} ${JSON.stringify(value)}`] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [...unstorableIn(name, `${at}.name`), ...unstorableIn(member, `${at}.${name}`)]);
}

const textOf = (content: any): string => content.content.map(({ text }: { text: string }) => text).join('');

async function checkStored(caller: ServerCaller, receipt: Receipt): Promise<void> {
  const { items } = await caller.accepted('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}/items?limit=100`);
  const contents = items.map(({ content }: any) => content);
  expect(contents.filter(({ type }: any) => type === 'message').map(textOf)).toEqual([input, stored, 'Fine\ufffd.']);
  expect(contents.filter(({ type }: any) => type === 'function_call').map(({ callId, name }: any) => [callId, name])).toEqual([
    ['call_1', 'openbot_todos'],
    ['call\ufffd\ufffd', 'no\ufffdsuch \ufffdtool.🗼'],
    ['call_3', 'openbot_todos'],
  ]);
  const outputs = contents.filter(({ type }: any) => type === 'function_call_output');
  expect(outputs.map(({ callId, status }: any) => [callId, status])).toEqual([
    ['call_1', 'completed'],
    ['call\ufffd\ufffd', 'failed'],
    ['call_3', 'failed'],
  ]);
  expect(JSON.parse(outputs[0].output)).toEqual({ items: [storedTodo, { id: 'b', content: 'open', status: 'done' }] });
  const events = await caller.eventsOf(receipt);
  const text = events.filter(({ body }) => body._tag === 'Text' && body.step === 1).map(({ body }) => body.delta);
  expect(text.join('')).toBe(stored);
  expect(framesOf(await caller.observe(receipt))).toEqual(events);
  await caller.accepted('GET', `/v1/chats/${receipt.chat}`);
  await caller.accepted('GET', `/v1/executions/${receipt.executionId}/calls`);
}

const apis: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['OpenAI Responses', { OPENAI_API_KEY: 'sk-test', OPENAI_API: 'responses' }],
  ['chat completions', { OPENAI_API_KEY: 'sk-test', OPENAI_API: 'chat' }],
  ['Anthropic Messages', { ANTHROPIC_API_KEY: 'sk-test' }],
];

test.each(apis)('202: whatever characters come through %s, they are stored and told safely, and the next turn goes on', async (_, keys) => {
  provider.reset();
  const app: TestApp = await startTestApp(database, { ...keys, OPENAI_BASE_URL: provider.url, ANTHROPIC_BASE_URL: provider.url });
  try {
    const { token } = await app.createTenant();
    const caller = callerOf({ url: app.url, token });
    const bot = await caller.accepted('POST', '/v1/bots', { name: 'Planner \u202e🗼' });
    // In pieces that cut characters in two.
    provider.answer({ reasoning: { text: 'I think\u0000 \ud800 🗼', opaque: 'b3BhcXVl' }, text: deltas, calls, pieceBytes: 3 }, { text: ['Fine\u0000', '.'] });
    const receipt = await caller.send(bot.id, input);
    const { response } = await caller.endOf(receipt);
    expect(response.status).toBe('completed');
    await checkStored(caller, receipt);

    // The next turn sends all of it back, in a form that any provider takes.
    provider.answer({ text: ['Still here.'] });
    const next = await caller.send(bot.id, 'Go on.');
    expect((await caller.endOf(next)).response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Still here.' }] }] });
    const { text, body } = provider.requests.at(-1)!;
    expect(unstorableIn(body)).toEqual([]);
    expect(text).toContain(JSON.stringify(input).slice(1, -1));
    const named = [...text.matchAll(/"(?:name|call_id|tool_call_id|tool_use_id)":"([^"]*)"/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThanOrEqual(6);
    expect(named.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name!))).toEqual([]);

    // A refusal in such words ends the turn as any other.
    provider.answer({ status: 400, message: 'no \u0000 \ud800 🗼' });
    const refused = await caller.send(bot.id, 'And now?');
    expect((await caller.endOf(refused)).response).toMatchObject({ status: 'failed', error: { category: 'model_rejected' } });
    await caller.eventsOf(refused);
    for (const answer of caller.heard.filter((part) => part.startsWith('{') || part.startsWith('['))) expect(unstorableIn(JSON.parse(answer))).toEqual([]);
  } finally {
    await app.close();
  }
});
