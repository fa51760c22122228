import { inspect } from 'node:util';
import type { Model, ModelFailure, ModelPart } from '@core/model.js';
import { quotingNoKey } from './key-redaction.js';

const key = 'sk-0123456789';
const failing = (cause: unknown): Model => ({
  provider: 'p',
  id: 'm',
  contextWindow: null,
  async *stream(): AsyncGenerator<ModelPart> {
    yield { type: 'text', delta: `${await Promise.resolve('a')}` };
    yield { type: 'failure', kind: 'unauthorized', retryAfterMs: null, status: 401, requestId: null, usage: null, cause };
  },
});

async function causeOf(cause: unknown, known: string | null = key): Promise<unknown> {
  const parts: ModelPart[] = [];
  for await (const part of quotingNoKey(failing(cause), known).stream({ instructions: '', history: [], tools: [] }, new AbortController().signal)) parts.push(part);
  expect(parts[0]).toEqual({ type: 'text', delta: 'a' });
  return (parts[1] as ModelFailure).cause;
}

const quoting = (): Error => Object.assign(new TypeError(`refused: ${key}`, { cause: new Error(`inside ${key}`) }), { responseBody: `{"error":"${key}"}`, statusCode: 401 });

test.each([
  ['an error, its fields and its own cause', quoting()],
  ['a text', `refused: ${key}`],
  ['an object', { error: { message: `refused: ${key}` } }],
])('the key is not in %s', async (_, cause) => {
  const kept = inspect(await causeOf(cause), { depth: 9 });
  expect(kept).not.toContain(key);
  expect(kept).toContain('refused: [key]');
});

test('an error stays the error that it was', async () => {
  const cause = quoting();
  expect(await causeOf(cause)).toBe(cause);
  expect(cause).toMatchObject({ name: 'TypeError', statusCode: 401 });
});

test.each([
  ['an object that is no JSON', Object.assign([1n]), { unreadable: true }],
  ['nothing', null, null],
])('%s does not stop the failure', async (_, cause, kept) => {
  expect(await causeOf(cause)).toEqual(kept);
});

test('without a key, or with one that is a word, a cause stays as it is', async () => {
  expect(await causeOf('none of it', null)).toBe('none of it');
  expect(await causeOf('none of it', 'none')).toBe('none of it');
});
