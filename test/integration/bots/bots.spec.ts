import { Client } from 'pg';
import { LoadBotQuery } from '@contexts/bots/public/load-bot.queries.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let outside: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  owner = await app.createTenant();
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterAll(async () => {
  await app.close();
  await outside.end();
  await database.close();
});

const bots = '/v1/bots';
const model = { provider: 'development', model: 'mock-text' };
const create = async (caller: Caller, body: object = { name: 'Planner' }): Promise<string> => (await caller.call('POST', bots, body)).body['id'] as string;

test('201: a bot is made and read with what was sent', async () => {
  const wanted = { name: 'Planner', instructions: 'Plan journeys. 🧭', model, maxSteps: 7 };
  const made = await owner.call('POST', bots, wanted);
  expect(made).toMatchObject({ status: 201, body: { id: expect.stringMatching(/^bot_/), revision: 1 } });
  expect(await owner.call('GET', `${bots}/${made.body['id']}`)).toMatchObject({
    status: 200,
    body: { ...wanted, model: { _tag: 'Config.Selection', ...model }, id: made.body['id'], owner: owner.memberId, revision: 1, access: ['read', 'delegate', 'change', 'share'] },
  });
});

test('201: a name is enough', async () => {
  const { body } = await owner.call('GET', `${bots}/${await create(owner)}`);
  expect(body).toMatchObject({ name: 'Planner', instructions: '', model: null, maxSteps: 50 });
});

test('201: instructions are sealed where they are stored', async () => {
  const id = fromPublicId('bot', await create(owner, { name: 'Secretive', instructions: 'The code word is heliotrope.' }));
  const { rows } = await outside.query<{ instructions: Buffer }>(`select instructions from bot where id = $1`, [id]);
  expect(rows[0]!.instructions.toString('latin1')).not.toContain('heliotrope');
});

test('201: ten requests at once with one key make one bot and get one receipt, also after it is deleted', async () => {
  const caller = await app.createMember(owner);
  const send = (body: object = { name: 'Once' }) => caller.call('POST', bots, body, { 'idempotency-key': 'make-1' });
  const answers = await Promise.all(Array.from({ length: 10 }, () => send()));
  expect(answers[0]!.status).toBe(201);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect((await caller.call('GET', bots)).body['items']).toHaveLength(1);

  expect((await caller.call('DELETE', `${bots}/${answers[0]!.body['id']}?expected=1`)).status).toBe(204);
  expect((await send()).text).toBe(answers[0]!.text);
  expect((await caller.call('GET', bots)).body['items']).toEqual([]);
});

test('409: a key that was used with another input makes nothing; a key is its member’s own', async () => {
  const caller = await app.createMember(owner);
  const headers = { 'idempotency-key': 'make-2' };
  expect((await caller.call('POST', bots, { name: 'A' }, headers)).status).toBe(201);
  expect(await caller.call('POST', bots, { name: 'B' }, headers)).toMatchObject({ status: 409, body: { _tag: 'ExecutionKeyConflict', commandKey: 'make-2' } });
  expect((await caller.call('GET', bots)).body['items']).toHaveLength(1);
  expect((await owner.call('POST', bots, { name: 'B' }, headers)).status).toBe(201);
});

test('400: a key of more than 128 characters is refused', async () => {
  expect(await owner.call('POST', bots, { name: 'A' }, { 'idempotency-key': 'k'.repeat(129) })).toMatchObject({ status: 400, body: { field: 'Idempotency-Key' } });
});

test.each([
  ['provider-not-found', { provider: 'nobody', model: 'mock-text' }],
  ['model-not-found', { provider: 'development', model: 'mock-nothing' }],
])('400: ChatModelInvalid says %s, and neither makes nor changes a bot', async (reason, chosen) => {
  const id = await create(owner);
  const before = (await owner.call('GET', bots)).text;
  const problem = { status: 400, body: { _tag: 'ChatModelInvalid', reason } };
  expect(await owner.call('POST', bots, { name: 'A', model: chosen }, { 'idempotency-key': `model-${reason}` })).toMatchObject(problem);
  expect(await owner.call('PATCH', `${bots}/${id}`, { expected: 1, model: chosen })).toMatchObject(problem);
  expect((await owner.call('GET', bots)).text).toBe(before);
  // Nothing was done under the key, so that the corrected request may use it.
  expect((await owner.call('POST', bots, { name: 'A', model }, { 'idempotency-key': `model-${reason}` })).status).toBe(201);
});

test('200: a change touches what it names and raises the revision', async () => {
  const id = await create(owner, { name: 'Before', instructions: 'Stay.', model, maxSteps: 3 });
  const changed = await owner.call('PATCH', `${bots}/${id}`, { expected: 1, name: 'After' });
  expect(changed).toMatchObject({ status: 200, body: { name: 'After', instructions: 'Stay.', model, maxSteps: 3, revision: 2 } });
  const again = await owner.call('PATCH', `${bots}/${id}`, { expected: 2, instructions: '', model: null, maxSteps: 4 });
  expect(again.body).toMatchObject({ name: 'After', instructions: '', model: null, maxSteps: 4, revision: 3 });
  expect((await owner.call('GET', `${bots}/${id}`)).text).toBe(again.text);
});

test('409: of ten changes at once one wins; the others learn the revision', async () => {
  const id = await create(owner);
  const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => owner.call('PATCH', `${bots}/${id}`, { expected: 1, name: `Name ${n}` })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const conflicts = answers.filter(({ status }) => status === 409);
  expect(conflicts).toHaveLength(9);
  for (const { body } of conflicts) expect(body).toMatchObject({ _tag: 'BotConflict', revision: 2 });
  expect(await owner.call('DELETE', `${bots}/${id}?expected=1`)).toMatchObject({ status: 409, body: { _tag: 'BotConflict', revision: 2 } });
});

test('204: a deleted bot is missing everywhere, and its instructions and grants are gone', async () => {
  const member = await app.createMember(owner);
  const id = await create(owner, { name: 'Leaving', instructions: 'Go.' });
  await owner.call('PUT', `${bots}/${id}/grants`, { expected: 1, grants: [{ member: member.memberId, rights: ['read'] }] });
  const uuid = fromPublicId('bot', id)!;
  const { rows: projects } = await outside.query<{ project_id: string }>(`select project_id from bot where id = $1`, [uuid]);
  const load = () => app.queries.execute(new LoadBotQuery({ organizationId: owner.organizationId, projectId: projects[0]!.project_id }, uuid));
  expect(await load()).toEqual({ id: uuid, name: 'Leaving', instructions: 'Go.', model: null, maxSteps: 50 });

  expect((await owner.call('DELETE', `${bots}/${id}?expected=2`)).status).toBe(204);
  for (const [method, path, body] of [
    ['GET', id],
    ['PATCH', id, { expected: 3, name: 'Back' }],
    ['DELETE', `${id}?expected=3`],
    ['GET', `${id}/grants`],
    ['PUT', `${id}/grants`, { expected: 3, grants: [] }],
  ] as const)
    expect(await owner.call(method, `${bots}/${path}`, body)).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
  expect(await load()).toBeNull();
  const { rows } = await outside.query(`select instructions, (select count(*)::int from bot_grant where bot_id = bot.id) as grants from bot where id = $1`, [uuid]);
  expect(rows).toEqual([{ instructions: null, grants: 0 }]);
});

test('200: pages join to the list of what may be read, oldest first, and leave instructions out', async () => {
  const caller = await app.createMember(owner);
  const made: string[] = [];
  for (const name of ['A', 'B', 'C', 'D', 'E']) made.push(await create(caller, { name, instructions: 'Long.' }));
  const read: string[] = [];
  for (let next: string | null = ''; next !== null;) {
    const { body } = await caller.call('GET', `${bots}?limit=2${next && `&after=${next}`}`);
    for (const item of body['items'] as { id: string }[]) {
      expect(item).not.toHaveProperty('instructions');
      read.push(item.id);
    }
    next = body['next'] as string | null;
  }
  expect(read).toEqual(made);
});

test.each([
  ['name', {}],
  ['name', { name: null }],
  ['name', { name: 'x'.repeat(101) }],
  ['instructions', { name: 'x', instructions: null }],
  ['instructions', { name: 'x', instructions: 'x'.repeat(100_001) }],
  ['model', { name: 'x', model: 'mock-text' }],
  ['model', { name: 'x', model: [] }],
  ['model.model', { name: 'x', model: { provider: 'development' } }],
  ['model.extra', { name: 'x', model: { ...model, extra: 1 } }],
  ['maxSteps', { name: 'x', maxSteps: 0 }],
  ['maxSteps', { name: 'x', maxSteps: 201 }],
  ['maxSteps', { name: 'x', maxSteps: null }],
  ['owner', { name: 'x', owner: 'me' }],
])('400: %s is refused when a bot is made and when it is changed: %#', async (field, body) => {
  expect(await owner.call('POST', bots, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
  if (Object.keys(body).length === 0) return;
  const id = await create(owner);
  expect(await owner.call('PATCH', `${bots}/${id}`, { expected: 1, ...body })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
  expect((await owner.call('GET', `${bots}/${id}`)).body['revision']).toBe(1);
});

test.each([
  ['PATCH', '', { name: 'x' }, 'expected'],
  ['PATCH', '', { expected: '1', name: 'x' }, 'expected'],
  ['DELETE', '', undefined, 'expected'],
  ['DELETE', '?expected=x', undefined, 'expected'],
  ['GET', '?limit=0', undefined, 'limit'],
  ['GET', '?after=x', undefined, 'after'],
  ['GET', '?before=bot_01k0w3j9v7e8t9q0c5m2x4z6b8', undefined, 'before'],
] as const)('400: %s%s needs its fields: %j', async (method, query, body, field) => {
  const path = method === 'GET' ? bots : `${bots}/${await create(owner)}`;
  expect(await owner.call(method, path + query, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
});
