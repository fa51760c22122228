import { addressPolicy } from '@platform/egress/address-policy.js';
import { Egress } from '@platform/egress/egress.js';
import type { FunctionCall, ItemContent } from '@domain/chats/items.js';
import { connectModel, type Endpoint } from '@contexts/models/providers/sdk-models.js';
import type { Model, ModelRequest } from '@core/model.js';
import { ScriptedProvider, type ScriptedAnswer } from '@test/support/scripted-provider.js';
import { ask, drain, failureOf, finishOf, keepsTheModelPort, textOf, type Situation, type Subject } from './conformance.js';

let provider: ScriptedProvider;
const egress = new Egress(addressPolicy([], { loopback: true }));

beforeAll(async () => {
  provider = await ScriptedProvider.start();
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await egress.close();
  await provider.close();
});

const usage = { input: 100, output: 40, cached: 60, cacheWrite: 10, reasoning: 25 };
const calls = [
  { id: 'call_a', name: 'openbot_todos', arguments: '{"items":[{"id":"lesen","content":"Übersicht 🗂️ lesen","status":"in_progress"}]}' },
  { id: 'call_b', name: 'weather', arguments: '{ "city" : "Zürich 🌧" }' },
];
const functionCalls = calls.map(({ id, name, arguments: text }): FunctionCall => ({ type: 'function_call', callId: id, name, arguments: text }));
const tools = ['openbot_todos', 'weather'].map((name) => ({ name, description: `The tool ${name}`, parameters: { type: 'object', properties: { city: { type: 'string' } } } }));

const answers: Record<Situation, ScriptedAnswer> = {
  text: { text: ['Guten', ' Tag', '.'], usage },
  calls: { calls, usage },
  limited: { status: 429, headers: { 'retry-after': '2' } },
  unavailable: { status: 503 },
  rejected: { status: 404, message: 'no such model' },
  interrupted: { text: ['Half an ans'], end: 'cut' },
  endless: { text: ['word ', 'word '], end: 'hold' },
};

const endpoints: readonly (readonly [name: string, endpoint: Omit<Endpoint, 'provider' | 'baseUrl'>, modelId: string])[] = [
  ['OpenAI Responses', { kind: 'openai', api: 'responses', apiKey: 'key-1' }, 'gpt-5.4'],
  ['OpenAI chat completions', { kind: 'openai', api: 'chat', apiKey: 'key-1' }, 'gpt-5.4'],
  ['Anthropic Messages', { kind: 'anthropic', api: null, apiKey: 'key-1' }, 'claude-sonnet-4-6'],
  ['a compatible server', { kind: 'openai-compatible', api: 'chat', apiKey: 'key-1' }, 'local-model'],
  ['a compatible server with Responses', { kind: 'openai-compatible', api: 'responses', apiKey: 'key-1' }, 'local-model'],
];

describe.each(endpoints)('%s', (_name, endpoint, modelId) => {
  const connect = (id = 'here'): Model =>
    connectModel({ ...endpoint, provider: id, baseUrl: provider.url }, { id: modelId, name: modelId, contextWindow: 1_000, reasoningEfforts: ['low'] }, egress);
  const anthropic = endpoint.kind === 'anthropic';
  const run = (answer: ScriptedAnswer, request: ModelRequest = ask('Hello', { tools }), model = connect()) => {
    provider.answer(answer);
    return drain(model, request);
  };

  describe('keeps the port', () => {
    keepsTheModelPort((): Subject => ({
      model: connect(),
      meet(situation) {
        provider.answer(answers[situation]);
        return ask('Hello', { tools });
      },
      released: async () => expect(await provider.requests.at(-1)!.closed).toBe('aborted'),
    }));
  });

  test('one call is one request, also when it fails', async () => {
    await run({ status: 500 });
    expect(provider.requests).toHaveLength(1);
  });

  test('the key goes where the interface expects it', async () => {
    await run(answers.text);
    const { headers } = provider.requests[0]!;
    expect(anthropic ? headers['x-api-key'] : headers.authorization).toBe(anthropic ? 'key-1' : 'Bearer key-1');
  });

  test('usage has its cache and reasoning parts, and the request its id', async () => {
    const finish = finishOf(await run({ ...answers.text, requestId: 'req_77' } as ScriptedAnswer));
    expect(finish.usage).toEqual({ inputTokens: 100, outputTokens: 40, cachedInputTokens: 60, cacheWriteTokens: 10, reasoningTokens: 25 });
    expect(finish.requestId).toBe('req_77');
  });

  test('a count that is none is not confirmed, and keeps nothing else from being read', async () => {
    const finish = finishOf(await run({ text: ['Hi'], usage: { ...usage, input: 1e30, output: 1.5, cached: -1 } }));
    expect(finish.usage).toMatchObject({ outputTokens: null, cachedInputTokens: null, reasoningTokens: 25 });
    for (const count of Object.values(finish.usage)) expect(count === null || Number.isSafeInteger(count)).toBe(true);
    expect(finish.items).toEqual([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }]);
  });

  test.each([1, 5])('two calls of one step survive a body in pieces of %i bytes', async (pieceBytes) => {
    const parts = await run({ text: ['Grüße 👋', ' — ', 'gleich'], calls, usage, pieceBytes });
    expect(textOf(parts)).toBe('Grüße 👋 — gleich');
    expect(finishOf(parts).items).toEqual([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Grüße 👋 — gleich' }] }, ...functionCalls]);
  });

  test('an answer that reached its length says so', async () => {
    expect(finishOf(await run({ text: ['cut', ' off'], usage, end: 'length' })).reason).toBe('length');
  });

  test('a stream that closes without a finish reason is interrupted', async () => {
    const failure = failureOf(await run({ text: ['Half'], end: 'no-finish', requestId: 'req_9' }));
    expect(failure).toMatchObject({ kind: 'interrupted', requestId: 'req_9' });
  });

  test('a cut stream tells the usage that came before the cut', async () => {
    const failure = failureOf(await run({ text: ['Half'], usage, end: 'cut' }));
    expect(failure.usage).toEqual(anthropic ? { inputTokens: 100, outputTokens: null, cachedInputTokens: 60, cacheWriteTokens: 10, reasoningTokens: null } : null);
  });

  test('calls of an unfinished stream are not handed out', async () => {
    const parts = await run({ calls, end: 'cut' });
    expect(parts.map(({ type }) => type)).toEqual(['failure']);
  });

  test.each([
    ['seconds', () => ({ 'retry-after': '3' }), 3_000, 3_000],
    ['milliseconds', () => ({ 'retry-after': '3', 'retry-after-ms': '1500' }), 1_500, 1_500],
    ['a date', () => ({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }), 50_000, 60_000],
  ])('a rate limit in %s', async (_unit, headers, atLeast, atMost) => {
    const failure = failureOf(await run({ status: 429, headers: headers() }));
    expect(failure).toMatchObject({ kind: 'limited', status: 429, requestId: 'req_failed' });
    expect(failure.retryAfterMs).toBeGreaterThanOrEqual(atLeast);
    expect(failure.retryAfterMs).toBeLessThanOrEqual(atMost);
  });

  test.each([
    [400, 'temperature is out of range', 'rejected'],
    [401, 'bad key', 'unauthorized'],
    [403, 'not allowed', 'unauthorized'],
    [404, 'no such model', 'rejected'],
    [400, "This model's maximum context length is 8192 tokens", 'too-long'],
    [400, 'prompt is too long: 210000 tokens > 200000 maximum', 'too-long'],
    [413, 'request exceeds the maximum size', 'too-long'],
    [408, 'timeout', 'unavailable'],
    [500, 'oops', 'unavailable'],
    [529, 'overloaded', 'unavailable'],
  ])('%i %s: %s', async (status, message, kind) => {
    expect(failureOf(await run({ status, message }))).toMatchObject({ kind, status, requestId: 'req_failed' });
  });

  test.each([
    ['overloaded_error', 'unavailable'],
    ['rate_limit_exceeded', 'limited'],
    ['invalid_request_error', 'rejected'],
  ])('an error event %s behind text: %s', async (type, kind) => {
    const parts = await run({ text: ['Half', ' an'], error: { type, message: 'as scripted' } });
    expect(textOf(parts)).toBe('Half an');
    expect(failureOf(parts).kind).toBe(kind);
  });

  test('an answer that is no stream is a failure', async () => {
    expect(failureOf(await run({ status: 200, message: 'hello' })).kind).toBe('interrupted');
  });

  test('a server that is not there is unavailable', async () => {
    const away = connectModel(
      { ...endpoint, provider: 'away', baseUrl: 'http://127.0.0.1:1/v1' },
      { id: modelId, name: modelId, contextWindow: null, reasoningEfforts: [] },
      egress,
    );
    expect(failureOf(await drain(away, ask('Hello')))).toMatchObject({ kind: 'unavailable', status: null });
  });

  test('an address that the guard refuses is rejected without a connection', async () => {
    const guarded = new Egress(addressPolicy([], { loopback: false }));
    const model = connectModel({ ...endpoint, provider: 'here', baseUrl: provider.url }, { id: modelId, name: modelId, contextWindow: null, reasoningEfforts: [] }, guarded);
    expect(failureOf(await drain(model, ask('Hello'))).kind).toBe('rejected');
    expect(provider.requests).toHaveLength(0);
    await guarded.close();
  });

  test('a longer history begins with the bytes of the shorter one', async () => {
    const history: ItemContent[] = [
      ...ask('What is the weather?').history,
      ...functionCalls,
      { type: 'function_call_output', callId: 'call_a', status: 'completed', output: '{"ok":true}' },
      { type: 'function_call_output', callId: 'call_b', status: 'failed', output: 'no such city', modelOutput: [{ type: 'text', text: 'Ask for another city.' }] },
    ];
    const later: ItemContent[] = [...history, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Which city? ' }] }, ...ask('Basel').history];
    await run(answers.text, ask('', { history, tools }));
    await run(answers.text, ask('', { history: later, tools }));
    const sent = provider.requests.map(({ body }) => (body['messages'] ?? body['input']) as unknown[]);
    const prefix = JSON.stringify(sent[0]).slice(0, -1);
    expect(JSON.stringify(sent[1]).startsWith(`${prefix},`)).toBe(true);
    const { messages: _m, input: _i, ...rest } = provider.requests[0]!.body;
    expect(provider.requests[1]!.body).toMatchObject(rest);
    // The arguments come back exactly as the model wrote them, spaces included, where the interface carries them as text.
    if (!anthropic) expect(provider.requests[0]!.text).toContain(JSON.stringify(calls[1]!.arguments));
  });
});

describe('reasoning', () => {
  const of = (api: 'openai' | 'anthropic', id: string): Model =>
    connectModel(
      { provider: id, kind: api, api: api === 'openai' ? 'responses' : null, baseUrl: provider.url, apiKey: 'key' },
      { id: api === 'openai' ? 'gpt-5.4' : 'claude-sonnet-4-6', name: 'x', contextWindow: null, reasoningEfforts: ['low'] },
      egress,
    );
  const opaque = { openai: ['"encrypted_content":"secret-bytes"'], anthropic: ['"signature":"secret-bytes"', '"type":"thinking"'] } as const;
  const thinking: ScriptedAnswer = { reasoning: { text: 'First the city.', opaque: 'secret-bytes' }, text: ['Basel'], usage };

  test.each(['openai', 'anthropic'] as const)('%s gets its own back, and nobody else does', async (api) => {
    provider.answer(thinking);
    const parts = await drain(of(api, 'mine'), ask('Where?', { reasoningEffort: 'low' }));
    expect(parts.map((part) => (part.type === 'reasoning' ? part.delta : '')).join('')).toBe('First the city.');
    const [reasoning, message] = finishOf(parts).items;
    expect(reasoning).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'First the city.' }], provider: 'mine' });
    expect(message).toMatchObject({ type: 'message' });

    const history = [...ask('Where?').history, reasoning!, message!, ...ask('And then?').history];
    provider.answer({ text: ['a', 'b'], usage }, { text: ['a', 'b'], usage });
    await drain(of(api, 'mine'), ask('', { history }));
    await drain(of(api, 'another'), ask('', { history }));
    for (const part of opaque[api]) expect(provider.requests[1]!.text).toContain(part);
    expect(provider.requests[2]!.text).not.toContain('secret-bytes');
  });

  test('OpenAI keeps nothing and sends its reasoning encrypted', async () => {
    provider.answer(thinking);
    await drain(of('openai', 'mine'), ask('Where?', { reasoningEffort: 'low' }));
    expect(provider.requests[0]!.body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'low' } });
  });
});
