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

test('members come in by invitations: nobody is handed a credential in the name of another', async () => {
  expect((await owner.call('POST', members, { name: 'Ada', email: 'ada@example.com' })).status).toBe(405);
});

test('an e-mail address is taken once in an organization, whatever its case, and is free in another', async () => {
  const made = await Promise.allSettled(['bea@example.com', 'BEA@example.com'].map((email) => app.createMember(owner, 'member', email)));
  expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await app.createMember(await app.createTenant(), 'member', 'bea@example.com');
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
