import type { Pool } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import type { RecordedRequest, ScriptedProvider } from '@test/support/scripted-provider.js';
import type { Api } from '@test/support/scripted-provider-wire.js';
import type { Receipt, ServerCaller } from './caller.js';
import { openCallResults } from './secrets.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- bodies of providers are looked at field by field */
export type Talk = {
  readonly caller: ServerCaller;
  readonly bot: string;
  readonly provider: ScriptedProvider;
  readonly api: Api;
  /** Of the stored usage. */
  readonly names: { readonly provider: string; readonly model: string };
  readonly database: TestDatabase;
  readonly outside: Pool;
};

export const retryAfterSeconds = 2;
const todo = (id: string, status: string) => ({ id, content: `Do ${id}`, status });
const lists = [
  [todo('tickets', 'in_progress'), todo('hotel', 'pending')],
  [todo('tickets', 'done'), todo('hotel', 'done')],
];
const calls = lists.map((items, index) => ({ id: `call_${index + 1}`, name: 'openbot_todos', arguments: JSON.stringify({ items }) }));
const reasoning = { text: 'Two things are to do.', opaque: 'b3BhcXVlLXJlYXNvbmluZw==' };
const firstUsage = { input: 100, output: 20, cached: 60, cacheWrite: 10, reasoning: 8 };
const lastUsage = { input: 140, output: 12, cached: 100, reasoning: 2 };

/** Every trouble that a provider makes, then a step with two calls, then the answer. */
function script(provider: ScriptedProvider): void {
  provider.answer(
    { status: 429, headers: { 'retry-after': String(retryAfterSeconds) }, message: 'Slow down.' },
    { text: ['Half of ', 'an answer '], end: 'cut' },
    { text: ['Another ', 'half '], end: 'no-finish' },
    { reasoning, text: ['I write ', 'a list.'], calls, usage: firstUsage, requestId: 'req_calls', pieceBytes: 11 },
    { text: ['Planned: ', '東京 ', '🗼.'], usage: lastUsage, requestId: 'req_answer', pieceBytes: 5 },
  );
}

/** While the provider is not to be asked, nobody owns the work: it is a row with a time. */
async function waitsDurably({ outside, provider }: Talk, executionId: string): Promise<void> {
  await provider.request(1);
  const [row] = await eventually(
    async () =>
      (
        await outside.query<{ state: string; owner: string | null; due: boolean }>(`select state, owner, runnable_at > clock_timestamp() as due from execution where id = $1`, [
          executionId,
        ])
      ).rows,
    ([execution]) => execution?.state === 'waiting',
  );
  expect(row).toEqual({ state: 'waiting', owner: null, due: true });
  expect(provider.requests).toHaveLength(1);
}

const uuid = ({ executionId }: Receipt): string => fromPublicId('execution', executionId)!;
const textsOf = (items: readonly any[]): string[] => items.flatMap((item) => (item.type === 'message' ? [item.content.map(({ text }: { text: string }) => text).join('')] : []));

/** What the provider was sent as the results of calls. */
function sentResults({ api, body }: RecordedRequest): [id: string, result: string][] {
  if (api === 'responses') return (body['input'] as any[]).filter(({ type }) => type === 'function_call_output').map(({ call_id, output }) => [call_id, output]);
  if (api === 'chat') return (body['messages'] as any[]).filter(({ role }) => role === 'tool').map(({ tool_call_id, content }) => [tool_call_id, content]);
  const blocks = (body['messages'] as any[]).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const textOf = (content: any): string => (typeof content === 'string' ? content : content.map(({ text }: { text: string }) => text).join(''));
  return blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id, content }) => [tool_use_id, textOf(content)]);
}

const historyName = { responses: 'input', chat: 'messages', messages: 'messages' } as const;

/** Whether the one request begins with all that the other sent, byte for byte, up to the end of its history. */
export function isPrefix(earlier: RecordedRequest, later: RecordedRequest): boolean {
  const name = historyName[earlier.api];
  const history = JSON.stringify(earlier.body[name]);
  const at = earlier.text.indexOf(history);
  if (at < 0) throw new Error('the history does not stand in the request as it was read');
  const { [name]: _earlier, ...fixed } = earlier.body;
  const { [name]: _later, ...after } = later.body;
  return later.text.startsWith(earlier.text.slice(0, at + history.length - 1)) && JSON.stringify(fixed) === JSON.stringify(after);
}

/** Steps, attempts and texts as the log tells them. */
async function checkLog({ caller, names }: Talk, receipt: Receipt): Promise<void> {
  const events = await caller.eventsOf(receipt);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const bodies = events.map(({ body }) => body);
  const attempts = bodies.filter(({ _tag }) => _tag === 'ModelAttempt').map(({ step, attempt, model }) => `${step}.${attempt} ${model}`);
  expect(attempts).toEqual(['1.1', '1.2', '1.3', '1.4', '2.1'].map((place) => `${place} ${names.model}`));
  const texts = new Map<string, string>();
  for (const { _tag, step, attempt, delta } of bodies) if (_tag === 'Text') texts.set(`${step}.${attempt}`, (texts.get(`${step}.${attempt}`) ?? '') + delta);
  expect([...texts]).toEqual([
    ['1.2', 'Half of an answer '],
    ['1.3', 'Another half '],
    ['1.4', 'I write a list.'],
    ['2.1', 'Planned: 東京 🗼.'],
  ]);
  const tools = bodies.filter(({ _tag }) => _tag === 'ToolCall' || _tag === 'ToolResult').map(({ _tag, callId, status = '' }) => `${_tag} ${callId} ${status}`.trim());
  expect(tools).toEqual(['ToolCall call_1', 'ToolResult call_1 completed', 'ToolCall call_2', 'ToolResult call_2 completed']);
}

type UsageRow = Record<'step' | 'attempt' | 'status' | 'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'reasoning_tokens', unknown>;

/** Each attempt has its row; what a provider did not confirm is unknown and keeps an estimate. */
async function checkUsage({ outside, names, api }: Talk, receipt: Receipt, turn: any): Promise<void> {
  const { rows } = await outside.query<UsageRow & { provider: string; model: string; estimated: boolean }>(
    `select step, attempt, status, input_tokens::int, output_tokens::int, cached_input_tokens::int, cache_write_tokens::int, reasoning_tokens::int,
            provider, model, estimated_input_tokens > 0 as estimated from usage_entry where execution_id = $1 order by step, attempt`,
    [uuid(receipt)],
  );
  for (const row of rows) expect(row).toMatchObject({ ...names, estimated: true });
  const place = ({ step, attempt, status }: UsageRow): string => `${String(step)}.${String(attempt)} ${String(status)}`;
  // Anthropic says with its first event what it has read.
  const cut = api === 'messages' ? 'confirmed' : 'unknown';
  expect(rows.map(place)).toEqual(['1.1 unknown', `1.2 ${cut}`, `1.3 ${cut}`, '1.4 confirmed', '2.1 confirmed']);
  expect(rows[3]).toMatchObject({ input_tokens: 100, output_tokens: 20, cached_input_tokens: 60, cache_write_tokens: 10, reasoning_tokens: 8 });
  expect(rows[4]).toMatchObject({ input_tokens: 140, output_tokens: 12, cached_input_tokens: 100, reasoning_tokens: 2 });
  const counted = rows.filter(({ status }) => status === 'confirmed');
  const sum = (name: keyof UsageRow): number | null => counted.reduce<number | null>((total, row) => (total === null || row[name] === null ? null : total + Number(row[name])), 0);
  expect(turn.usage).toEqual({
    inputTokens: sum('input_tokens'),
    outputTokens: sum('output_tokens'),
    cachedInputTokens: sum('cached_input_tokens'),
    cacheWriteTokens: sum('cache_write_tokens'),
    reasoningTokens: sum('reasoning_tokens'),
  });
}

async function checkRequests({ provider, database, outside }: Talk, receipt: Receipt): Promise<void> {
  const [first, second, third, fourth, last] = provider.requests;
  expect(provider.requests).toHaveLength(5);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(retryAfterSeconds * 1_000);
  // The same attempt again is the same request: what the provider has cached of it stays of use.
  expect([second!.text, third!.text, fourth!.text]).toEqual([first!.text, first!.text, first!.text]);
  expect(isPrefix(first!, last!)).toBe(true);
  // A provider may use an id again in a later turn; what it is sent names each call once.
  const ids = sentResults(last!).map(([id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(sentResults(last!).slice(-2)).toEqual(lists.map((items, index) => [expect.stringMatching(new RegExp(`^${calls[index]!.id}(_2)?$`)), JSON.stringify({ items })]));
  const results = await openCallResults(database, outside, uuid(receipt));
  expect(Object.entries(results).map(([place, { requestId }]) => [place, requestId])).toEqual([
    ['1.1', 'req_failed'],
    ['1.2', 'req_scripted'],
    ['1.3', 'req_scripted'],
    ['1.4', 'req_calls'],
    ['2.1', 'req_answer'],
  ]);
}

/** One conversation of two turns, with all that can go wrong on its way, checked from the provider's end to the reader's. */
export async function holdConversation(talk: Talk): Promise<Receipt> {
  const { caller, bot, provider, names } = talk;
  provider.reset();
  script(provider);
  const receipt = await caller.send(bot, 'Plan two days in 東京.');
  await waitsDurably(talk, uuid(receipt));
  const { turn, response } = await caller.endOf(receipt);
  expect(response).toMatchObject({ status: 'completed', error: null });
  expect(textsOf(response.output)).toEqual(['I write a list.', 'Planned: 東京 🗼.']);
  expect(turn).toMatchObject({ status: { _tag: 'Completed' }, steps: 2 });
  const { items } = await caller.accepted('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}/items?limit=100`);
  expect(textsOf(items.map(({ content }: any) => content))).toEqual(['Plan two days in 東京.', 'I write a list.', 'Planned: 東京 🗼.']);
  const written = items.map(({ content }: any) => content).filter(({ type }: any) => type === 'function_call');
  expect(written.map(({ callId, name, arguments: args }: any) => ({ id: callId, name, arguments: args }))).toEqual(calls);
  await checkLog(talk, receipt);
  await checkUsage(talk, receipt, turn);
  await checkRequests(talk, receipt);

  provider.answer({ text: ['You are welcome.'], usage: { input: 150, output: 4 } });
  const again = await caller.send(bot, 'Thank you.');
  expect((await caller.endOf(again)).response.status).toBe('completed');
  const [before, after] = provider.requests.slice(-2);
  expect(isPrefix(before!, after!)).toBe(true);
  expect(after!.text).toContain('Planned: 東京 🗼.');
  expect(after!.body.model).toBe(names.model);
  return again;
}
