import type { FunctionCall } from '@domain/chats/items.js';
import { defaultResultLimits } from './result-limit.js';
import { completed, type Tool, type ToolContext } from './tool.js';
import { runToolStep } from './tool-step.js';

const call = (name: string, args: string, callId = 'c1'): FunctionCall => ({ type: 'function_call', callId, name, arguments: args });
const context: ToolContext = { callId: 'c1', step: 1, signal: new AbortController().signal };

const echo: Tool = {
  definition: {
    name: 'echo',
    description: 'Says it again.',
    parameters: { type: 'object', properties: { text: { type: 'string', minLength: 1 }, times: { type: 'integer', minimum: 1 } }, required: ['text'], additionalProperties: false },
  },
  run: async (args) => completed(JSON.stringify(args)),
};
const tool = (run: Tool['run']): Tool => ({ definition: { name: 'other', description: 'Does something else.', parameters: { type: 'object' } }, run });

const run = (tools: readonly Tool[], calls: readonly FunctionCall[], index = 0, limits = defaultResultLimits) => runToolStep({ tools, calls, index, context, limits });
async function outputOf(...args: Parameters<typeof run>) {
  const outcome = await run(...args);
  if (outcome._tag === 'Aborted') throw new Error('aborted');
  return outcome.output;
}

test('a call that fits runs with its parsed arguments and its context', async () => {
  const seen: unknown[] = [];
  const watching = tool(async (args, given) => (seen.push(args, given), completed('ok')));
  expect(await run([echo, watching], [call('other', '{"a": [1]}')])).toEqual({
    _tag: 'Returned',
    output: { type: 'function_call_output', callId: 'c1', status: 'completed', output: 'ok' },
    cause: null,
  });
  expect(seen).toEqual([{ a: [1] }, context]);
});

test.each<[rule: string, name: string, args: string, message: string]>([
  ['an unknown tool is answered with the names of the known ones', 'ecko', '{}', 'There is no tool "ecko". Tools: echo, other.'],
  ['a name from Object.prototype is no tool', 'constructor', '{}', 'There is no tool "constructor". Tools: echo, other.'],
  ['a missing argument is named', 'echo', '{}', 'The argument "text" is missing.'],
  ['no text at all is an object without arguments', 'echo', '  ', 'The argument "text" is missing.'],
  ['a wrong type is named', 'echo', '{"text": 5}', 'The argument "text" must be of type string.'],
  ['a limit is named', 'echo', '{"text": "a", "times": 0}', 'The argument "times" must be at least 1.'],
  ['an unknown argument is named, with the known ones', 'echo', '{"text": "a", "loud": true}', 'The argument "loud" is not known; known here: text, times.'],
  ['a list is no object', 'echo', '["a"]', 'The arguments must be a JSON object.'],
  ['null is no object', 'echo', 'null', 'The arguments must be a JSON object.'],
  ['depth beyond a stack is refused', 'other', `${'{"a":['.repeat(100_000)}${']}'.repeat(100_000)}`, 'The arguments are nested more than 100 levels deep.'],
])('%s', async (_rule, name, args, message) => {
  expect(await outputOf([echo, tool(async () => completed('ran'))], [call(name, args)])).toEqual({ type: 'function_call_output', callId: 'c1', status: 'failed', output: message });
});

test('arguments that are no JSON are answered with the place of the mistake', async () => {
  const output = await outputOf([echo], [call('echo', '{"text": "a')]);
  expect(output).toMatchObject({ status: 'failed', output: expect.stringMatching(/^The arguments are not valid JSON: .+/) as string });
});

test('of two calls with one id the first runs and the second is answered', async () => {
  const calls = [call('echo', '{"text":"1"}'), call('echo', '{"text":"2"}'), call('echo', '{"text":"3"}', 'c2')];
  expect(await outputOf([echo], calls, 0)).toMatchObject({ status: 'completed', output: '{"text":"1"}' });
  expect(await outputOf([echo], calls, 1)).toMatchObject({ callId: 'c1', status: 'failed', output: expect.stringContaining('used twice') as string });
  expect(await outputOf([echo], calls, 2)).toMatchObject({ callId: 'c2', status: 'completed' });
});

test('escaped NULs and halves in arguments reach the tool as U+FFFD; keys of the prototype stay keys', async () => {
  const seen: unknown[] = [];
  const watching = tool(async (args) => (seen.push(args), completed('ok')));
  await run([watching], [call('other', '{"a": "x\\u0000\\ud83d", "__proto__": {"b": 1}}')]);
  expect(JSON.stringify(seen)).toBe('[{"a":"x\uFFFD\uFFFD","__proto__":{"b":1}}]');
});

test('a tool that throws is a failed output without its error; the cause goes beside it', async () => {
  const cause = new Error('password=hunter2');
  const outcome = await run([tool(() => Promise.reject(cause))], [call('other', '{}')]);
  expect(outcome).toMatchObject({ _tag: 'Returned', output: { status: 'failed' }, cause });
  expect(JSON.stringify(outcome)).not.toContain('hunter2');
});

test.each<[what: string, result: unknown]>([
  ['nothing', undefined],
  ['a bare text', 'done'],
  ['an object as output', { status: 'completed', output: { done: true } }],
  ['an unknown status', { status: 'ok', output: 'done' }],
])('a tool that returns %s counts as one that threw', async (_what, result) => {
  const outcome = await run([tool(() => Promise.resolve(result as never))], [call('other', '{}')]);
  expect(outcome).toMatchObject({ _tag: 'Returned', output: { status: 'failed' }, cause: expect.any(TypeError) as unknown });
});

test('an aborted call does not start, and one that throws because of the abort has no result', async () => {
  let started = false;
  const abort = new AbortController();
  const waits = tool(async (_args, { signal }) => {
    started = true;
    abort.abort();
    signal.throwIfAborted();
    return completed('never');
  });
  const step = { tools: [waits], calls: [call('other', '{}')], index: 0, context: { ...context, signal: abort.signal } };
  expect(await runToolStep(step)).toEqual({ _tag: 'Aborted' });
  expect(started).toBe(true);
  started = false;
  expect(await runToolStep(step)).toEqual({ _tag: 'Aborted' });
  expect(started).toBe(false);
});

test('a result that came in spite of the abort is kept', async () => {
  const abort = new AbortController();
  const sends = tool(async () => (abort.abort(), completed('sent')));
  const outcome = await runToolStep({ tools: [sends], calls: [call('other', '{}')], index: 0, context: { ...context, signal: abort.signal } });
  expect(outcome).toMatchObject({ output: { output: 'sent' } });
});

test('a long result is cut with a note, never in the middle of a character', async () => {
  const says = (output: string) => outputOf([tool(async () => completed(output))], [call('other', '{}')], 0, { characters: 10, fileCharacters: 10 });
  expect((await says('0123456789')).output).toBe('0123456789');
  expect((await says('0123456789a')).output).toBe('0123456789\n[Result cut: these are the first 10 of 11 characters.]');
  expect((await says('012345678😀')).output).toBe('012345678\n[Result cut: these are the first 9 of 11 characters.]');
});

test('what the model reads has limits of its own: texts share one, files another', async () => {
  const modelOutput = [
    { type: 'text', text: '012345' },
    { type: 'file', mediaType: 'image/png', base64: 'AAAAAAAA' },
    { type: 'file', mediaType: 'image/png', name: 'big.png', base64: 'AAAAAAAA' },
    { type: 'text', text: '6789abc' },
  ] as const;
  const output = await outputOf([tool(async () => ({ status: 'completed', output: 'ok', modelOutput }))], [call('other', '{}')], 0, { characters: 10, fileCharacters: 8 });
  expect(output.modelOutput).toEqual([
    modelOutput[0],
    modelOutput[1],
    { type: 'text', text: '[File big.png left out: the files of this result are too large.]' },
    { type: 'text', text: '6789\n[Result cut: these are the first 4 of 7 characters.]' },
  ]);
});

test('results are storable', async () => {
  const modelOutput = [{ type: 'text', text: '\uD83D' }] as const;
  const output = await outputOf([tool(async () => ({ status: 'failed', output: 'a\0', modelOutput }))], [call('other', '{}')]);
  expect(output).toEqual({ type: 'function_call_output', callId: 'c1', status: 'failed', output: 'a\uFFFD', modelOutput: [{ type: 'text', text: '\uFFFD' }] });
});
