import { Client } from 'pg';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';

let database: TestDatabase;
let app: TestApp;
let behind: Client;
let owner: Caller;
let member: Caller;
let stranger: Caller;

beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  behind = new Client({ connectionString: database.url });
  await behind.connect();
  owner = await app.createTenant();
  member = await app.createMember(owner);
  stranger = await app.createTenant();
});

afterAll(async () => {
  await behind.end();
  await app.close();
  await database.close();
});

let names = 0;
const secret = 'sk-very-secret-key';
const wanted = (more: object = {}) => ({ kind: 'openai', name: `Connection ${(names += 1)}`, apiKey: secret, models: [{ id: 'gpt-5.4' }], ...more });
const path = '/v1/model-connections';

async function create(more: object = {}): Promise<Answer['body']> {
  const { status, body } = await owner.call('POST', path, wanted(more));
  expect({ status, tag: body['_tag'] }).toEqual({ status: 201, tag: undefined });
  return body;
}

const stored = async (): Promise<number> => Number((await behind.query<{ count: string }>('select count(*) from model_connection')).rows[0]!.count);
const storedAs = async (name: unknown) =>
  (await behind.query<{ sealed_key: Buffer | null; deleted_at: Date | null }>('select sealed_key, deleted_at from model_connection where name = $1', [name])).rows[0]!;

describe('POST /v1/model-connections', () => {
  test('201: the connection without its key, which is stored sealed', async () => {
    const body = await create({
      models: [
        { id: 'gpt-5.4', contextWindow: 400_000, reasoningEfforts: ['low'] },
        { id: 'mini', name: 'Small' },
      ],
    });
    expect(body).toMatchObject({
      id: expect.stringMatching(/^conn_/),
      kind: 'openai',
      baseUrl: null,
      api: 'responses',
      hasKey: true,
      revision: 1,
      models: [
        { id: 'gpt-5.4', name: 'gpt-5.4', contextWindow: 400_000, reasoningEfforts: ['low'] },
        { id: 'mini', name: 'Small', contextWindow: null, reasoningEfforts: [] },
      ],
    });
    expect(JSON.stringify(body)).not.toContain(secret);
    const { sealed_key: sealed } = await storedAs(body['name']);
    expect(sealed!.length).toBeGreaterThan(secret.length);
    expect(sealed!.includes(secret)).toBe(false);
  });

  test('201: a compatible server needs an address and no key', async () => {
    expect(await create({ kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: undefined })).toMatchObject({ hasKey: false, api: 'chat' });
  });

  test('403: a member who is no owner', async () => {
    const before = await stored();
    expect(await member.call('POST', path, wanted())).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
    expect(await stored()).toBe(before);
  });

  test('409: a name that another connection has, in any case', async () => {
    const { name } = await create();
    expect(await owner.call('POST', path, wanted({ name: (name as string).toUpperCase() }))).toMatchObject({ status: 409, body: { _tag: 'ModelConnectionNameTaken' } });
  });

  test('409: twenty at once with one name leave one', async () => {
    const body = wanted();
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.call('POST', path, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  test('201: another organization may use the name', async () => {
    const { name } = await create();
    expect((await stranger.call('POST', path, wanted({ name }))).status).toBe(201);
  });

  test.each([
    ['a compatible server without an address', { kind: 'openai-compatible' }, 'baseUrl', 'needed'],
    ['a vendor without a key', { apiKey: null }, 'apiKey', 'needed'],
    ['an interface that Anthropic does not have', { kind: 'anthropic', api: 'chat' }, 'api', 'not-for-this-kind'],
    ['a model twice', { models: [{ id: 'a' }, { id: 'a' }] }, 'models[1].id', 'duplicate'],
    ['no address', { baseUrl: 'nonsense' }, 'baseUrl', 'not-a-url'],
    ['another scheme', { baseUrl: 'file:///etc/passwd' }, 'baseUrl', 'scheme'],
    ['credentials in the address', { baseUrl: 'https://user:pass@example.com/v1' }, 'baseUrl', 'credentials'],
    ['a query in the address', { baseUrl: 'https://example.com/v1?a=1' }, 'baseUrl', 'query'],
    ['the metadata service', { baseUrl: 'http://169.254.169.254/v1' }, 'baseUrl', 'address'],
    ['a private address in disguise', { baseUrl: 'http://[::ffff:10.0.0.1]/v1' }, 'baseUrl', 'address'],
  ])('400: %s', async (_rule, more, field, reason) => {
    const before = await stored();
    expect(await owner.call('POST', path, wanted(more))).toMatchObject({ status: 400, body: { _tag: 'ModelConnectionInvalid', field, reason } });
    expect(await stored()).toBe(before);
  });

  const over = (length: number) => 'x'.repeat(length);
  test.each([
    ['kind', { kind: 'azure' }],
    ['kind', { kind: undefined }],
    ['kind', { kind: ['openai'] }],
    ['name', { name: undefined }],
    ['name', { name: '' }],
    ['name', { name: over(101) }],
    ['name', { name: null }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: 'a\ud800b' }],
    ['baseUrl', { baseUrl: 7 }],
    ['baseUrl', { baseUrl: over(2_001) }],
    ['api', { api: 'soap' }],
    ['apiKey', { apiKey: over(1_001) }],
    ['apiKey', { apiKey: 'line\nbreak' }],
    ['apiKey', { apiKey: {} }],
    ['models', { models: undefined }],
    ['models', { models: [] }],
    ['models', { models: 'gpt' }],
    ['models', { models: Array.from({ length: 101 }, (_, index) => ({ id: `m${index}` })) }],
    ['models[0].id', { models: [{}] }],
    ['models[0].id', { models: [{ id: over(201) }] }],
    ['models[0].name', { models: [{ id: 'a', name: null }] }],
    ['models[0].contextWindow', { models: [{ id: 'a', contextWindow: 0 }] }],
    ['models[0].contextWindow', { models: [{ id: 'a', contextWindow: 1.5 }] }],
    ['models[0].reasoningEfforts', { models: [{ id: 'a', reasoningEfforts: [over(33)] }] }],
    ['models[0].price', { models: [{ id: 'a', price: 1 }] }],
    ['hasKey', { hasKey: true }],
    ['organizationId', { organizationId: 'x' }],
  ])('400: a bad %s is named and nothing is stored: %j', async (field, more) => {
    const before = await stored();
    const answer = await owner.call('POST', path, wanted(more));
    expect(answer).toMatchObject({ status: 400, body: { _tag: 'InvalidInput' } });
    expect(answer.body['field']).toBe(field);
    expect(await stored()).toBe(before);
  });

  test('401: without a token', async () => {
    expect((await app.as(null)('POST', path, wanted())).status).toBe(401);
  });
});

describe('GET /v1/model-connections', () => {
  test('200: pages through them, the oldest first, and shows no other organization and no key', async () => {
    const reader = await app.createTenant();
    const made: string[] = [];
    for (let index = 0; index < 3; index += 1) made.push((await reader.call('POST', path, wanted())).body['id'] as string);
    const first = await reader.call('GET', `${path}?limit=2`);
    const second = await reader.call('GET', `${path}?limit=2&after=${first.body['next'] as string}`);
    const items = [...(first.body['items'] as { id: string }[]), ...(second.body['items'] as { id: string }[])];
    expect(items.map(({ id }) => id)).toEqual(made);
    expect(second.body['next']).toBeNull();
    expect(first.text + second.text).not.toMatch(/secret|sealed|apiKey/i);
  });

  test('200: a member reads what the owner made', async () => {
    const { id } = await create();
    expect(await member.call('GET', `${path}/${id as string}`)).toMatchObject({ status: 200, body: { id, hasKey: true } });
  });

  test('404: foreign, missing and malformed ids have one answer', async () => {
    const { id } = await create();
    const missing = 'conn_01h455vb4pex5vsknk084sn02q';
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { expected: 1 } : undefined;
      const answers = await Promise.all([
        stranger.call(method, `${path}/${id as string}`, body),
        stranger.call(method, `${path}/${missing}`, body),
        stranger.call(method, `${path}/nonsense`, body),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
  });
});

describe('PATCH /v1/model-connections/:id', () => {
  test('200: changes what is named and keeps the rest, the key too', async () => {
    const made = await create();
    const before = await storedAs(made['name']);
    const answer = await owner.call('PATCH', `${path}/${made['id'] as string}`, { expected: 1, models: [{ id: 'other' }] });
    expect(answer).toMatchObject({ status: 200, body: { name: made['name'], hasKey: true, revision: 2, models: [{ id: 'other' }] } });
    expect((await storedAs(made['name'])).sealed_key!.equals(before.sealed_key!)).toBe(true);
  });

  test('409: a revision that is not the current one', async () => {
    const { id } = await create();
    await owner.call('PATCH', `${path}/${id as string}`, { expected: 1, models: [{ id: 'b' }] });
    expect(await owner.call('PATCH', `${path}/${id as string}`, { expected: 1, models: [{ id: 'c' }] })).toMatchObject({
      status: 409,
      body: { _tag: 'ModelConnectionConflict', revision: 2 },
    });
  });

  test('409: ten changes of one revision at once: one wins', async () => {
    const { id } = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => owner.call('PATCH', `${path}/${id as string}`, { expected: 1, models: [{ id: `m${index}` }] })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
  });

  test('409: the name of another connection', async () => {
    const [first, second] = [await create(), await create()];
    expect(await owner.call('PATCH', `${path}/${second['id'] as string}`, { expected: 1, name: first['name'] })).toMatchObject({
      status: 409,
      body: { _tag: 'ModelConnectionNameTaken' },
    });
  });

  test('400: the stored key does not follow to another server', async () => {
    const { id } = await create();
    const move = { expected: 1, baseUrl: 'https://elsewhere.example/v1' };
    expect(await owner.call('PATCH', `${path}/${id as string}`, move)).toMatchObject({
      status: 400,
      body: { _tag: 'ModelConnectionInvalid', field: 'apiKey', reason: 'needed-for-new-address' },
    });
    expect((await owner.call('PATCH', `${path}/${id as string}`, { ...move, apiKey: 'another' })).status).toBe(200);
  });

  test('400: a vendor is not left without a key', async () => {
    const { id } = await create();
    expect(await owner.call('PATCH', `${path}/${id as string}`, { expected: 1, apiKey: null })).toMatchObject({ status: 400, body: { field: 'apiKey', reason: 'needed' } });
  });

  test('200: a compatible server forgets its key', async () => {
    const { id } = await create({ kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' });
    expect(await owner.call('PATCH', `${path}/${id as string}`, { expected: 1, apiKey: null })).toMatchObject({ status: 200, body: { hasKey: false } });
  });

  test('400: the kind cannot be changed', async () => {
    const { id } = await create();
    expect(await owner.call('PATCH', `${path}/${id as string}`, { expected: 1, kind: 'anthropic' })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field: 'kind' } });
  });

  test('403: a member who is no owner', async () => {
    const { id } = await create();
    expect(await member.call('PATCH', `${path}/${id as string}`, { expected: 1, name: 'Mine' })).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  });
});

describe('DELETE /v1/model-connections/:id', () => {
  test('204: the connection is gone, its key too, and its name is free', async () => {
    const { id, name } = await create();
    expect((await owner.call('DELETE', `${path}/${id as string}`)).status).toBe(204);
    expect((await owner.call('GET', `${path}/${id as string}`)).status).toBe(404);
    expect((await owner.call('DELETE', `${path}/${id as string}`)).status).toBe(404);
    expect(await storedAs(name)).toMatchObject({ sealed_key: null, deleted_at: expect.any(Date) });
    expect((await owner.call('POST', path, wanted({ name }))).status).toBe(201);
  });

  test('403: a member who is no owner', async () => {
    const { id } = await create();
    expect((await member.call('DELETE', `${path}/${id as string}`)).status).toBe(403);
    expect((await owner.call('GET', `${path}/${id as string}`)).status).toBe(200);
  });
});

test('row-level security alone hides the rows of another organization', async () => {
  await create();
  const runner = database.api.createQueryRunner();
  await runner.startTransaction();
  const rows: unknown[] = await runner.query('select id from model_connection');
  await runner.rollbackTransaction();
  await runner.release();
  expect(rows).toEqual([]);
});
