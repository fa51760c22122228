import type { ItemContent } from '@domain/chats/items.js';
import { todosDigest } from '@domain/chats/todos.js';
import { createHost, type HostOptions } from './in-memory-host.js';
import type { HostDelta } from './in-memory-turn.js';
import { answers, breaksOff, callsTools, fails, hangs, scriptedModel, type ScriptedStep } from './testing/scripted-model.js';
import { completed, type Tool } from './tool.js';

const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: null, reasoningTokens: 0 };
const asks = (text: string): ItemContent => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const says = (text: string): ItemContent => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

const add: Tool = {
  definition: { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] } },
  run: async ({ a, b }) => completed(String(Number(a) + Number(b))),
};

function hostOf(script: readonly ScriptedStep[], options: Partial<HostOptions> = {}) {
  const model = scriptedModel(script);
  const waits: number[] = [];
  const host = createHost({ model, tools: [add], random: () => 1, sleep: async (ms) => void waits.push(ms), ...options });
  return { host, model, waits };
}

test('several messages keep the history, and each answer has its own items', async () => {
  const { host, model } = hostOf([answers('Hello Ada'), answers('Ada')], { instructions: 'Be brief.' });
  expect(await host.send('I am Ada')).toMatchObject({ status: 'completed', text: 'Hello Ada', steps: 1, items: [asks('I am Ada'), says('Hello Ada')], failure: null });
  expect(await host.send([{ type: 'input_text', text: 'Who am I?' }])).toMatchObject({ text: 'Ada', items: [asks('Who am I?'), says('Ada')] });
  expect(model.requests[1]).toMatchObject({ instructions: 'Be brief.', history: [asks('I am Ada'), says('Hello Ada'), asks('Who am I?')], tools: [add.definition] });
  expect(host.items()).toHaveLength(4);
});

test('tools run in order, the model reads their results, and usage is added up', async () => {
  const calls = callsTools(
    [
      { name: 'add', args: { a: 1, b: 2 } },
      { name: 'add', args: { a: 3, b: 4 } },
    ],
    { usage, text: 'Let me see.' },
  );
  const { host, model } = hostOf([calls, answers('3 and 7', { usage })]);
  const answer = await host.send('Add');
  expect(answer).toMatchObject({
    status: 'completed',
    text: '3 and 7',
    steps: 2,
    usage: { inputTokens: 20, outputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: null, reasoningTokens: 0 },
  });
  expect(model.requests[1]?.history.slice(-2)).toMatchObject([
    { callId: 'call_1', output: '3' },
    { callId: 'call_2', output: '7' },
  ]);
});

test('malformed calls become errors that the model reads, and the turn goes on', async () => {
  const calls = callsTools([
    { name: 'add', args: '{"a": 1', callId: 'x' },
    { name: 'sub', args: {}, callId: 'y' },
    { name: 'add', args: { a: 1, b: 1 }, callId: 'x' },
    { name: 'add', args: { a: 1, b: '2' }, callId: 'z' },
  ]);
  const { host, model } = hostOf([calls, answers('Sorry')]);
  expect(await host.send('Add')).toMatchObject({ status: 'completed', text: 'Sorry', faults: [] });
  const read = model.requests[1]?.history.filter((item) => item.type === 'function_call_output');
  expect(read).toMatchObject([
    { callId: 'x', status: 'failed', output: expect.stringContaining('not valid JSON') as string },
    { callId: 'y', status: 'failed', output: 'There is no tool "sub". Tools: add.' },
    { callId: 'x_2', status: 'failed', output: expect.stringContaining('used twice') as string },
    { callId: 'z', status: 'failed', output: 'The argument "b" must be of type number.' },
  ]);
  expect(host.items().filter((item) => item.type === 'function_call')[0]).toMatchObject({ arguments: '{"a": 1' });
});

test('what a tool threw is among the faults, not in the conversation', async () => {
  const cause = new Error('secret');
  const { host } = hostOf([callsTools([{ name: 'add', args: { a: 1, b: 1 } }]), answers('No luck')], { tools: [{ ...add, run: () => Promise.reject(cause) }] });
  const answer = await host.send('Add');
  expect(answer).toMatchObject({ status: 'completed', faults: [{ step: 1, callId: 'call_1', name: 'add', cause }] });
  expect(JSON.stringify(answer.items)).not.toContain('secret');
});

test('the step limit stops a turn with its reason, and the next message goes on from the saved results', async () => {
  const again = callsTools([{ name: 'add', args: { a: 1, b: 1 } }]);
  const { host, model } = hostOf([again, again, answers('2, 2')], { maxSteps: 2 });
  expect(await host.send('Add for ever')).toMatchObject({ status: 'stopped', reason: 'step-limit', steps: 2, text: '' });
  expect(await host.send('And?')).toMatchObject({ status: 'completed', text: '2, 2', steps: 1 });
  expect(model.requests[2]?.history.map((item) => item.type)).toEqual(['message', 'function_call', 'function_call_output', 'function_call', 'function_call_output', 'message']);
});

test('failures that may pass are tried again, no sooner than the provider asked; attempts keep their texts apart', async () => {
  const { host, model, waits } = hostOf([fails('limited', { retryAfterMs: 3000 }), breaksOff('Half'), fails('unavailable'), answers(['Wh', 'ole'])]);
  const deltas: HostDelta[] = [];
  const answer = await host.send('Hello', { onDelta: (delta) => void deltas.push(delta) });
  expect(answer).toMatchObject({ status: 'completed', text: 'Whole', steps: 1 });
  expect(waits).toEqual([3000, 1000, 2000]);
  expect(deltas).toEqual([
    { type: 'text', delta: 'Half', step: 1, attempt: 2 },
    { type: 'text', delta: 'Wh', step: 1, attempt: 4 },
    { type: 'text', delta: 'ole', step: 1, attempt: 4 },
  ]);
  expect(model.requests.every((request) => JSON.stringify(request.history) === JSON.stringify([asks('Hello')]))).toBe(true);
});

test.each<[kind: 'rejected' | 'unauthorized' | 'too-long' | 'unavailable', requests: number]>([
  ['rejected', 1],
  ['unauthorized', 1],
  ['too-long', 1],
  ['unavailable', 4],
])('a model that is %s fails the turn after %i requests, and the conversation goes on', async (kind, requests) => {
  const { host, model } = hostOf([...Array.from({ length: requests }, () => fails(kind, { usage })), answers('Here again')]);
  expect(await host.send('Hello')).toMatchObject({ status: 'failed', reason: 'model-failed', steps: 0, failure: { kind }, usage: { inputTokens: 10 * requests } });
  expect(model.requests).toHaveLength(requests);
  expect(await host.send('Now?')).toMatchObject({ status: 'completed', text: 'Here again' });
});

test('an abort while the model streams cancels the turn; the next message is answered', async () => {
  const { host, waits } = hostOf([hangs('Once upon'), answers('Better')]);
  const abort = new AbortController();
  expect(await host.send('A story', { signal: abort.signal, onDelta: () => abort.abort() })).toMatchObject({
    status: 'cancelled',
    steps: 0,
    usage: null,
    failure: null,
    items: [asks('A story')],
  });
  expect(waits).toEqual([]);
  expect(await host.send('Shorter')).toMatchObject({ status: 'completed', text: 'Better' });
});

test('an abort between attempts ends the wait', async () => {
  const abort = new AbortController();
  const { host, model } = hostOf([fails('unavailable'), answers('Too late')], { sleep: async () => abort.abort() });
  expect(await host.send('Hello', { signal: abort.signal })).toMatchObject({ status: 'cancelled' });
  expect(model.requests).toHaveLength(1);
});

test('an abort in a tool leaves its call without a result, and the next turn says so to the model', async () => {
  const abort = new AbortController();
  const stuck: Tool = {
    ...add,
    run: async (_args, { signal }) => {
      abort.abort();
      signal.throwIfAborted();
      return completed('never');
    },
  };
  const { host, model } = hostOf([callsTools([{ name: 'add', args: { a: 1, b: 1 } }]), answers('I see')], { tools: [stuck] });
  expect(await host.send('Add', { signal: abort.signal })).toMatchObject({ status: 'cancelled', steps: 1, faults: [] });
  await host.send('Well?');
  expect(model.requests[1]?.history[2]).toMatchObject({ type: 'function_call_output', status: 'failed', output: expect.stringContaining('No result') as string });
});

test('messages sent at once are answered one after the other; one that is taken back in time was never said', async () => {
  const { host, model } = hostOf([answers('1'), answers('3')]);
  const answered = await Promise.all([host.send('one'), host.send('two', { signal: AbortSignal.abort() }), host.send('three')]);
  expect(answered.map(({ status, text }) => [status, text])).toEqual([
    ['completed', '1'],
    ['cancelled', ''],
    ['completed', '3'],
  ]);
  expect(model.requests[1]?.history).toEqual([asks('one'), says('1'), asks('three')]);
});

test('a sink that throws rejects its own message alone', async () => {
  const { host } = hostOf([answers('1'), answers('2')]);
  const onDelta = () => Promise.reject(new Error('closed'));
  const [first, second] = await Promise.allSettled([host.send('one', { onDelta }), host.send('two')]);
  expect(first).toMatchObject({ status: 'rejected', reason: new Error('closed') });
  expect(second).toMatchObject({ status: 'fulfilled', value: { text: '2' } });
});

const sets = (...entries: [id: string, status: string][]) => callsTools([{ name: 'openbot_todos', args: { items: entries.map(([id, status]) => ({ id, content: id, status })) } }]);
const remindersIn = (items: readonly ItemContent[]) => JSON.stringify(items).split('[OpenBot]').length - 1;

test('an answer with open entries is followed by one reminder for each state of the list', async () => {
  const { host, model } = hostOf([sets(['a', 'in_progress']), answers('Done?'), sets(['a', 'done'], ['b', 'pending']), answers('Really?'), answers('Stopping here')], {
    todos: true,
  });
  const answer = await host.send('Do it');
  expect(answer).toMatchObject({ status: 'completed', text: 'Stopping here', steps: 5 });
  expect(remindersIn(answer.items)).toBe(2);
  expect(JSON.stringify(model.requests[2]?.history.at(-1))).toContain('- a (in_progress): a');
  expect(todosDigest(host.todos())).toBe(
    todosDigest([
      { id: 'a', content: 'a', status: 'done' },
      { id: 'b', content: 'b', status: 'pending' },
    ]),
  );
});

test('a state that was reminded of is not reminded of in the next turn', async () => {
  const { host } = hostOf([sets(['a', 'pending']), answers('Later'), answers('Still later'), answers('Hello')], { todos: true });
  expect(remindersIn((await host.send('Plan')).items)).toBe(1);
  expect(remindersIn((await host.send('Hi')).items)).toBe(0);
});

test('a list that is done is empty after the turn, and the tool reads it without arguments', async () => {
  const { host, model } = hostOf([sets(['a', 'done']), answers('Done'), callsTools([{ name: 'openbot_todos', args: '' }]), answers('Nothing left')], { todos: true });
  await host.send('Do it');
  expect(host.todos()).toEqual([]);
  await host.send('What is left?');
  expect(model.requests[3]?.history.at(-1)).toMatchObject({ status: 'completed', output: '{"items":[]}' });
});

test('a bad list changes nothing', async () => {
  const { host, model } = hostOf([sets(['a', 'done'], ['a', 'done']), answers('Oh')], { todos: true });
  await host.send('Plan');
  expect(model.requests[1]?.history.at(-1)).toMatchObject({ status: 'failed', output: expect.stringContaining('items[1].id') as string });
});

test('without todos the model has no such tool', async () => {
  const { host, model } = hostOf([answers('Hi')], { tools: [] });
  await host.send('Hi');
  expect(model.requests[0]?.tools).toEqual([]);
});

test('what cannot be stored becomes U+FFFD, in the question and in the answer', async () => {
  const { host } = hostOf([answers(['a\0\uD83D', '\uDE00'])]);
  expect(await host.send('\uD83D?')).toMatchObject({ items: [asks('\uFFFD?'), says('a\uFFFD😀')] });
});

test.each<[what: string, options: Partial<HostOptions>]>([
  ['no steps', { maxSteps: 0 }],
  ['half a step', { maxSteps: 1.5 }],
  ['two tools of one name', { tools: [add, add] }],
])('a host with %s is refused', (_what, options) => {
  expect(() => hostOf([], options)).toThrow(RangeError);
});
