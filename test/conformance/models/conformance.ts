import { callsOf, type Model, type ModelFailure, type ModelPart, type ModelRequest } from '@core/model.js';

/** What a model is brought to do. Each subject says with which request its model does it. */
export type Situation = 'text' | 'calls' | 'limited' | 'unavailable' | 'rejected' | 'interrupted' | 'endless';

export interface Subject {
  readonly model: Model;
  /** Prepares the situation and returns the request that meets it. */
  meet(situation: Situation): ModelRequest;
  /** Resolves once an aborted call has let go of what it held. */
  released(): Promise<void>;
}

export const ask = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: 'Answer in one sentence.',
  history: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  tools: [],
  ...more,
});

export async function drain(model: Model, request: ModelRequest, signal = new AbortController().signal): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, signal)) parts.push(part);
  return parts;
}

export const lastOf = (parts: readonly ModelPart[]): ModelPart => parts.at(-1)!;
export const textOf = (parts: readonly ModelPart[]): string => parts.map((part) => (part.type === 'text' ? part.delta : '')).join('');

export function finishOf(parts: readonly ModelPart[]): Extract<ModelPart, { type: 'finish' }> {
  const last = lastOf(parts);
  if (last.type !== 'finish') throw new Error(`the call ended with ${JSON.stringify({ ...last, cause: String((last as ModelFailure).cause) })}`);
  return last;
}

export function failureOf(parts: readonly ModelPart[]): ModelFailure {
  const last = lastOf(parts);
  if (last.type !== 'failure') throw new Error(`the call ended with ${last.type}`);
  return last;
}

/** What every model owes its callers, real or simulated. */
export function keepsTheModelPort(subject: () => Subject): void {
  const run = (situation: Situation) => drain(subject().model, subject().meet(situation));
  const ends = (parts: readonly ModelPart[]) => parts.filter(({ type }) => type === 'finish' || type === 'failure');

  test('an answer comes in several deltas, and its item holds their text', async () => {
    const parts = await run('text');
    const finish = finishOf(parts);
    expect(parts.filter(({ type }) => type === 'text').length).toBeGreaterThan(1);
    expect(finish.items).toEqual([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: textOf(parts) }] }]);
    expect(finish.reason).toBe('stop');
    expect(ends(parts)).toHaveLength(1);
  });

  test('a finished call counts its tokens', async () => {
    const { usage } = finishOf(await run('text'));
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(usage.cachedInputTokens ?? 0).toBeLessThanOrEqual(usage.inputTokens ?? 0);
    expect(usage.reasoningTokens ?? 0).toBeLessThanOrEqual(usage.outputTokens ?? 0);
  });

  test('the same request gives the same answer', async () => {
    const [first, second] = [await run('text'), await run('text')];
    expect(finishOf(second).items).toEqual(finishOf(first).items);
  });

  test('calls end the step with their reason, with ids of their own and arguments that parse', async () => {
    const finish = finishOf(await run('calls'));
    const calls = callsOf(finish.items);
    expect(finish.reason).toBe('tool-calls');
    expect(calls.length).toBeGreaterThan(0);
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(calls.length);
    for (const call of calls) expect(typeof JSON.parse(call.arguments)).toBe('object');
  });

  test.each(['limited', 'unavailable', 'rejected', 'interrupted'] as const)('%s is an understood failure and the last part', async (kind) => {
    const parts = await run(kind);
    expect(failureOf(parts).kind).toBe(kind);
    expect(ends(parts)).toHaveLength(1);
  });

  test('a limited call says when to come back', async () => {
    expect(failureOf(await run('limited')).retryAfterMs).toBeGreaterThan(0);
  });

  test('an interrupted call had begun to answer', async () => {
    expect(textOf(await run('interrupted'))).not.toBe('');
  });

  test('an abort ends the call as interrupted and lets go of the connection', async () => {
    const stopping = new AbortController();
    const parts: ModelPart[] = [];
    for await (const part of subject().model.stream(subject().meet('endless'), stopping.signal)) {
      parts.push(part);
      stopping.abort(new Error('enough'));
    }
    expect(failureOf(parts).kind).toBe('interrupted');
    await subject().released();
  });

  test('a call that is aborted before it begins ends at once', async () => {
    const parts = await drain(subject().model, subject().meet('text'), AbortSignal.abort());
    expect(parts.map(({ type }) => type)).toEqual(['failure']);
    expect(failureOf(parts).kind).toBe('interrupted');
  });

  test('a reader that leaves closes the call', async () => {
    for await (const part of subject().model.stream(subject().meet('endless'), new AbortController().signal)) if (part.type === 'text') break;
    await subject().released();
  });
}
