import { toPublicId } from '@platform/ids/typeid.js';
import { identity, reached } from './sample.js';
import { startSampleApp, type SampleApp } from './sample-app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: SampleApp;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startSampleApp(database.api);
});
afterAll(async () => {
  await app.close();
  await database.close();
});
beforeEach(() => void reached.splice(0));

type Answer = { status: number; body: Record<string, unknown> };
async function post(body: string | Buffer | undefined, headers: Record<string, string> = { 'content-type': 'application/json' }): Promise<Answer> {
  const response = await fetch(`${app.url}/v1/samples`, {
    method: 'POST',
    headers: { authorization: 'Bearer good', ...headers },
    ...(body === undefined ? {} : { body: body as never }),
  });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const good = { input: [{ type: 'text', content: 'hello' }], commandKey: 'first' };
const json = (change: object): string => JSON.stringify({ ...good, ...change });
const content = (text: string): string => `{"input":[{"type":"text","content":${text}}],"commandKey":"k"}`;
const botId = toPublicId('bot', identity.memberId);
const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;

test('202: the good body arrives', async () => {
  expect(await post(JSON.stringify({ ...good, queue: true, steps: 3, bot: botId }))).toEqual({ status: 202, body: { id: 'first' } });
  expect(reached).toHaveLength(1);
});

test('202: characters beyond the first plane and names of other alphabets are text as any other', async () => {
  expect((await post(json({ commandKey: '𝒳 – 你好 – \u202e – 🧑‍🚀' }))).status).toBe(202);
  expect(reached[0]?.commandKey).toBe('𝒳 – 你好 – \u202e – 🧑‍🚀');
});

test.each([
  ['missing', json({ commandKey: undefined }), 'commandKey', /required/],
  ['null', json({ commandKey: null }), 'commandKey', /string/],
  ['of another type', json({ commandKey: 7 }), 'commandKey', /string/],
  ['an object for a text', json({ commandKey: { a: 1 } }), 'commandKey', /string/],
  ['a list for a text', json({ commandKey: ['a'] }), 'commandKey', /string/],
  ['empty', json({ commandKey: '' }), 'commandKey', /longer than or equal to 1/],
  ['too long', json({ commandKey: 'k'.repeat(129) }), 'commandKey', /shorter than or equal to 128/],
  ['a text for a number', json({ steps: '3' }), 'steps', /integer/],
  ['a fraction', json({ steps: 1.5 }), 'steps', /integer/],
  ['below the least', json({ steps: -1 }), 'steps', /less than 0/],
  ['above the most', json({ steps: 1_001 }), 'steps', /greater than 1000/],
  ['a text for a boolean', json({ queue: 'true' }), 'queue', /boolean/],
  ['no id', json({ bot: 'x' }), 'bot', /starts with bot_/],
  ['an id of another kind', json({ bot: toPublicId('chat', identity.memberId) }), 'bot', /starts with bot_/],
  ['a text for a list', json({ input: 'hello' }), 'input', /array/],
  ['too many', json({ input: Array(4).fill(good.input[0]) }), 'input', /no more than 3/],
  ['an unknown field', json({ extra: 1 }), 'extra', /not a known field/],
  ['an unknown field inside', json({ input: [{ ...good.input[0], extra: 1 }] }), 'input[0].extra', /not a known field/],
  ['missing inside', json({ input: [good.input[0], { type: 'text' }] }), 'input[1].content', /required/],
  ['null inside', json({ input: [null] }), 'input[0]', /object/],
  ['a text inside a list of objects', json({ input: ['x'] }), 'input[0]', /object/],
  ['a list inside a list of objects', json({ input: [[]] }), 'input[0]', /must be an object/],
  ['another kind', json({ input: [{ type: 'video', content: 'x' }] }), 'input[0].type', /one of/],
  ['__proto__', '{"__proto__":{"queue":true},"commandKey":"k","input":[]}', '__proto__', /not allowed/],
  ['constructor', '{"constructor":{"prototype":{"a":1}},"commandKey":"k","input":[]}', 'constructor', /not allowed/],
  ['__proto__ inside', content('{"__proto__":1}'), 'input[0].content.__proto__', /not allowed/],
  ['a duplicate key', '{"commandKey":"a","commandKey":"b","input":[]}', 'commandKey', /given twice/],
  ['a duplicate key inside', '{"commandKey":"a","input":[{"type":"text","type":"text","content":"x"}]}', 'input[0].type', /given twice/],
  ['NUL', content('"a\\u0000"'), 'input[0].content', /NUL/],
  ['half a surrogate pair', content('"\\ud83d"'), 'input[0].content', /surrogate/],
  ['a number beyond all', '{"steps":1e400,"commandKey":"k","input":[]}', 'steps', /too large/],
  ['10,000 levels', `{"input":${deep},"commandKey":"k"}`, 'input', /deeper than 64/],
  ['no JSON', '{"commandKey":', 'commandKey', /not valid JSON/],
  ['no UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]), 'body', /UTF-8/],
  ['white space', '   ', 'body', /empty/],
  ['no body', '', 'commandKey', /required/],
  ['null', 'null', 'body', /object/],
  ['a list', '[]', 'body', /object/],
  ['a text', '"hello"', 'body', /object/],
  ['a number', '1', 'body', /object/],
])('400: %s', async (_, body, field, reason) => {
  const answer = await post(body);
  expect(answer).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', message: expect.any(String) as string } });
  const violations = answer.body['violations'] as { field: string; reason: string }[];
  const named = violations.find((violation) => violation.field === field || violation.field.startsWith(`${field}[`));
  expect(named?.reason).toMatch(reason);
  expect(violations[0]).toEqual({ field: answer.body['field'], reason: answer.body['reason'] });
  expect(reached).toEqual([]);
});

test('413: a body over 1 MiB, announced or not', async () => {
  const huge = json({ commandKey: 'k'.repeat(1_048_576) });
  expect(await post(huge)).toMatchObject({ status: 413, body: { _tag: 'BodyTooLarge' } });
  const chunks = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(huge));
      controller.close();
    },
  });
  const response = await fetch(`${app.url}/v1/samples`, {
    method: 'POST',
    headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
    body: chunks,
    duplex: 'half',
  } as RequestInit);
  expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 413, body: { _tag: 'BodyTooLarge' } });
});

test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'nonsense'])('415: %s', async (type) => {
  expect(await post('commandKey=a', { 'content-type': type })).toMatchObject({ status: 415, body: { _tag: 'UnsupportedMediaType' } });
});

test('202: a charset parameter does not matter', async () => {
  expect((await post(json({}), { 'content-type': 'application/json; charset=utf-8' })).status).toBe(202);
});

test('202: a route without a body takes none, and an empty one that says JSON', async () => {
  for (const headers of [{}, { 'content-type': 'application/json' }]) expect((await fetch(`${app.url}/v1/samples/plain`, { method: 'POST', headers })).status).toBe(202);
});

test.each([
  ['0', 'limit', /less than 1/],
  ['101', 'limit', /greater than 100/],
  ['x', 'limit', /integer/],
  ['1.5', 'limit', /integer/],
  ['', 'limit', /less than 1/],
  ['1&limit=2', 'limit', /integer/],
  ['1e400', 'limit', /integer|greater/],
  ['1&extra=1', 'extra', /not a known field/],
  ['1&__proto__=1', '__proto__', /not allowed/],
  ['1&before=%00', 'before', /cannot be stored/],
  ['1&before=' + 'x'.repeat(129), 'before', /shorter/],
])('400: the query limit=%s', async (query, field, reason) => {
  const response = await fetch(`${app.url}/v1/samples?limit=${query}`, { headers: { authorization: 'Bearer good' } });
  const body = (await response.json()) as { violations: { field: string; reason: string }[] };
  expect(response.status).toBe(400);
  expect(body).toMatchObject({ _tag: 'InvalidInput', field });
  expect(body.violations.map((violation) => violation.reason).join('; ')).toMatch(reason);
});

test('200: a list has a limit of 50 by itself', async () => {
  const ask = async (query: string): Promise<unknown> => (await fetch(`${app.url}/v1/samples${query}`, { headers: { authorization: 'Bearer good' } })).json();
  expect(await ask('')).toMatchObject({ query: { limit: 50 } });
  expect(await ask('?limit=100')).toMatchObject({ query: { limit: 100 } });
});
