import { v7 as uuidv7 } from 'uuid';
import { CreateOrganizationCommand } from '@contexts/organizations/public/create-organization.command.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  owner = await app.createTenant();
});
afterAll(async () => {
  await app.close();
  await database.close();
});

const members = '/v1/organization/members';

test('200: the organization is the one of the credential', async () => {
  const other = await app.createTenant();
  const [mine, theirs] = [await owner.call('GET', '/v1/organization'), await other.call('GET', '/v1/organization')];
  expect(mine).toMatchObject({ status: 200, body: { name: 'Example', id: expect.stringMatching(/^org_/), createdAt: expect.any(Number) } });
  expect(mine.body['id']).not.toBe(theirs.body['id']);
});

test('200: the list of projects begins with the default', async () => {
  const { status, body } = await owner.call('GET', '/v1/projects');
  expect(status).toBe(200);
  expect(body).toEqual({ items: [{ id: expect.stringMatching(/^proj_/), revision: 1, name: 'Default', createdAt: expect.any(Number) }], next: null });
  const { project } = (await owner.call('GET', '/v1/me')).body;
  expect(body['items']).toMatchObject([{ id: project }]);
});

test('201: an owner makes a member, whose first token counts', async () => {
  const { status, body } = await owner.call('POST', members, { name: 'Ada', email: 'ada@example.com' });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^mem_/),
    revision: 1,
    kind: 'person',
    name: 'Ada',
    email: 'ada@example.com',
    role: 'member',
    suspended: false,
    createdAt: expect.any(Number),
    token: expect.stringMatching(/^obt_/),
  });
  expect((await app.as(body['token'] as string)('GET', '/v1/me')).body).toMatchObject({ id: body['id'], name: 'Ada', role: 'member' });
});

test('403: a member makes no members', async () => {
  const member = await app.createMember(owner);
  const answer = await member.call('POST', members, { name: 'Eve' });
  expect(answer).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  expect((await member.call('GET', members)).status).toBe(200);
});

test('409: an e-mail address is taken once in an organization, whatever its case, and is free in another', async () => {
  const body = { name: 'Bea', email: 'bea@example.com' };
  const answers = await Promise.all([owner.call('POST', members, body), owner.call('POST', members, { name: 'Bob', email: 'BEA@example.com' })]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ _tag: 'MemberConflict' });
  const other = await app.createTenant();
  expect((await other.call('POST', members, body)).status).toBe(201);
});

test.each([
  ['name', {}],
  ['name', { name: '' }],
  ['name', { name: 'x'.repeat(101) }],
  ['name', { name: null }],
  ['email', { name: 'x', email: 'nobody' }],
  ['role', { name: 'x', role: 'king' }],
  ['role', { name: 'x', role: null }],
  ['extra', { name: 'x', extra: 1 }],
])('400: %s is refused and nothing is stored: %j', async (field, body) => {
  const before = (await owner.call('GET', members)).text;
  expect(await owner.call('POST', members, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
  expect((await owner.call('GET', members)).text).toBe(before);
});

test('201: a name is counted in characters, also where a character takes several code units', async () => {
  const { status, body } = await owner.call('POST', members, { name: '🧭'.repeat(100) });
  expect(status).toBe(201);
  expect(body['name']).toBe('🧭'.repeat(100));
  expect((await owner.call('POST', members, { name: '☎\ufe0f'.repeat(51) })).status).toBe(400);
});

test('200: pages of members join to the list, and only the last has no next', async () => {
  const tenant = await app.createTenant();
  for (let made = 0; made < 4; made += 1) await app.createMember(tenant);
  const all = (await tenant.call('GET', members)).body;
  expect(all['items']).toHaveLength(5);
  const read: unknown[] = [];
  for (let next: string | null = ''; next !== null;) {
    const { body } = await tenant.call('GET', `${members}?limit=2${next && `&after=${next}`}`);
    read.push(...(body['items'] as unknown[]));
    next = body['next'] as string | null;
  }
  expect(read).toEqual(all['items']);
});

test('an organization is made whole once: of ten at once one makes it, and the others learn that it is there', async () => {
  const wanted = { organization: { id: uuidv7(), name: 'Once' }, project: { id: uuidv7(), name: 'Default' }, owner: { id: uuidv7(), name: 'Ann', email: null } };
  const results = await Promise.all(Array.from({ length: 10 }, () => app.commands.execute(new CreateOrganizationCommand(wanted))));
  expect(results.filter((result) => result.ok)).toHaveLength(1);
  expect(results.filter((result) => !result.ok && result.failure._tag === 'OrganizationExists')).toHaveLength(9);
});
