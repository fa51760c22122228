import type { ItemContent } from '@domain/chats/items.js';
import type { Model, ModelPart, ModelRequest } from './model.js';
import { isFailure, runModelStep, type ModelDelta } from './model-step.js';
import { answers, breaksOff, callsTools, fails, hangs, scriptedModel, yieldsParts } from './testing/scripted-model.js';

const request: ModelRequest = { instructions: 'Be brief.', history: [], tools: [] };
const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, cacheWriteTokens: null, reasoningTokens: 1 };
const never = new AbortController().signal;

async function run(model: Model, signal = never) {
  const deltas: ModelDelta[] = [];
  const outcome = await runModelStep(model, request, signal, (delta) => void deltas.push(delta));
  return { outcome, deltas, text: deltas.map(({ delta }) => delta).join('') };
}
const says = (text: string): ItemContent => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

test('a text is streamed in its pieces and ends as an answer', async () => {
  const { outcome, deltas } = await run(scriptedModel([answers(['Hel', 'lo'], { usage, requestId: 'req_1' })]));
  expect(deltas).toEqual([
    { type: 'text', delta: 'Hel' },
    { type: 'text', delta: 'lo' },
  ]);
  expect(outcome).toEqual({ _tag: 'Answered', items: [says('Hello')], usage, finishReason: 'stop', requestId: 'req_1' });
});

test('two calls in one step, with malformed arguments kept as they were written', async () => {
  const { outcome } = await run(
    scriptedModel([
      callsTools(
        [
          { name: 'a', args: '{"x": ' },
          { name: 'b', args: {} },
        ],
        { reason: 'length' },
      ),
    ]),
  );
  expect(outcome).toMatchObject({
    _tag: 'CalledTools',
    finishReason: 'length',
    items: [
      { name: 'a', arguments: '{"x": ' },
      { name: 'b', arguments: '{}' },
    ],
  });
});

test('the model is asked with the request as it stands', async () => {
  const model = scriptedModel([answers('Yes')]);
  await run(model);
  expect(model.requests).toEqual([request]);
});

test('a stream that just stops is an interrupted failure; what it streamed was streamed', async () => {
  const { outcome, text } = await run(scriptedModel([breaksOff('Half an ans')]));
  expect(outcome).toMatchObject({ type: 'failure', kind: 'interrupted' });
  expect(text).toBe('Half an ans');
});

test('an answer without an end is cut off, for good', async () => {
  const piece = 'x'.repeat(1_000_000);
  const { outcome, text } = await run(scriptedModel([answers(Array.from({ length: 10 }, () => piece))]));
  expect(outcome).toMatchObject({ type: 'failure', kind: 'rejected' });
  expect(text.length).toBe(4_000_000);
});

test('more calls than any step makes, or longer ones, are not run', async () => {
  const many = Array.from({ length: 129 }, (_, index) => ({ name: `tool${index}`, args: {} }));
  const long = [{ name: 'a', args: JSON.stringify({ text: 'x'.repeat(9_000_000) }) }];
  for (const calls of [many, long]) expect((await run(scriptedModel([callsTools(calls, { usage })]))).outcome).toMatchObject({ type: 'failure', kind: 'rejected', usage });
});

test('a failure of the adapter is returned as it is', async () => {
  const { outcome } = await run(scriptedModel([fails('limited', { retryAfterMs: 1500, status: 429, requestId: 'req_2', usage })]));
  expect(outcome).toMatchObject({ type: 'failure', kind: 'limited', retryAfterMs: 1500, status: 429, requestId: 'req_2', usage });
  expect(isFailure(outcome)).toBe(true);
});

test('an adapter that throws has lost its stream', async () => {
  const cause = new Error('socket hang up');
  const { outcome } = await run(
    scriptedModel([
      async function* (): AsyncGenerator<ModelPart> {
        yield { type: 'text', delta: 'x' };
        throw cause;
      },
    ]),
  );
  expect(outcome).toMatchObject({ type: 'failure', kind: 'interrupted', cause });
});

test('nothing is read after the finish', async () => {
  const finish: ModelPart = { type: 'finish', items: [], reason: 'stop', usage, requestId: null };
  const { outcome, deltas } = await run(scriptedModel([yieldsParts(finish, { type: 'text', delta: 'late' })]));
  expect(outcome).toMatchObject({ _tag: 'Answered', items: [] });
  expect(deltas).toEqual([]);
});

test('an aborted signal asks nothing', async () => {
  const model = scriptedModel([answers('Yes')]);
  const { outcome } = await run(model, AbortSignal.abort());
  expect(outcome).toMatchObject({ kind: 'interrupted' });
  expect(model.requests).toHaveLength(0);
});

test('an abort ends a silent stream', async () => {
  const abort = new AbortController();
  const outcome = await runModelStep(scriptedModel([hangs('Well')]), request, abort.signal, () => abort.abort(new Error('enough')));
  expect(outcome).toMatchObject({ kind: 'interrupted', cause: new Error('enough') });
});

test('a sink that throws closes the stream, and its error is no failure of the model', async () => {
  let closed = false;
  const model = scriptedModel([
    async function* (): AsyncGenerator<ModelPart> {
      try {
        yield { type: 'text', delta: 'x' };
        yield { type: 'text', delta: 'y' };
      } finally {
        closed = true;
      }
    },
  ]);
  const lost = new Error('lost ownership');
  const sink = () => {
    throw lost;
  };
  await expect(runModelStep(model, request, never, sink)).rejects.toBe(lost);
  expect(closed).toBe(true);
});

test('the next part is read when the sink has taken the last one', async () => {
  const seen: string[] = [];
  await runModelStep(scriptedModel([answers(['a', 'b'])]), request, never, async ({ delta }) => {
    seen.push(`${delta} begins`);
    await Promise.resolve();
    seen.push(`${delta} ends`);
  });
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('NUL and lone halves come out as U+FFFD; a pair split over two deltas stays a pair, also with reasoning between', async () => {
  const parts: ModelPart[] = [
    { type: 'text', delta: 'a\0\uD83D' },
    { type: 'reasoning', delta: 'think\uD83D' },
    { type: 'text', delta: '\uDE00b\uDE00' },
    { type: 'text', delta: '\uD83D' },
    {
      type: 'finish',
      items: [says('a\0😀b\uDE00\uD83D'), { type: 'function_call', callId: 'c\0', name: 'n\0', arguments: '"\uD83D"' }],
      reason: 'tool-calls',
      usage,
      requestId: 'r\0',
    },
  ];
  const { outcome, deltas } = await run(scriptedModel([yieldsParts(...parts)]));
  const text = (type: string) =>
    deltas
      .filter((delta) => delta.type === type)
      .map(({ delta }) => delta)
      .join('');
  expect(text('text')).toBe('a\uFFFD😀b\uFFFD\uFFFD');
  expect(text('reasoning')).toBe('think\uFFFD');
  expect(outcome).toMatchObject({
    items: [says('a\uFFFD😀b\uFFFD\uFFFD'), { callId: 'c\uFFFD', name: 'n\uFFFD', arguments: '"\uFFFD"' }],
    requestId: 'r\uFFFD',
  });
});
