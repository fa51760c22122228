import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  outside = new Client(database.url);
  await outside.connect();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
});
beforeEach(async () => {
  owner = await app.createTenant();
});
afterAll(async () => {
  await outside.end();
  await app.close();
  await database.close();
});

const projects = '/v1/projects';
const made = async (by: Caller, name = 'Research'): Promise<string> => (await by.call('POST', projects, { name })).body['id'] as string;
const rolesIn = (project: string): string => `${projects}/${project}/members`;

test('201: whoever makes a project runs it, and a credential acts in the one that the path names', async () => {
  const { status, body } = await owner.call('POST', projects, { name: 'Research' });
  expect({ status, body }).toEqual({ status: 201, body: { id: expect.stringMatching(/^proj_/), revision: 1 } });
  const project = body['id'] as string;
  expect((await owner.call('GET', `${projects}/${project}`)).body).toEqual({ id: project, revision: 1, name: 'Research', createdAt: expect.any(Number) });
  expect((await owner.call('GET', rolesIn(project))).body).toEqual({ revision: 1, members: [{ member: owner.memberId, role: 'admin' }] });
  expect(((await owner.call('GET', projects)).body['items'] as object[]).length).toBe(2);
});

test('201: a retry with the same key makes no second project; with another name it is refused', async () => {
  const send = (name: string) => owner.call('POST', projects, { name }, { 'idempotency-key': 'once' });
  const answers = await Promise.all([send('Once'), send('Once'), send('Once')]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(await send('Twice')).toMatchObject({ status: 409, body: { _tag: 'ExecutionKeyConflict' } });
  expect((await owner.call('GET', projects)).body['items']).toHaveLength(2);
});

test('200: a new name counts the revision up, and a stale one is refused', async () => {
  const project = await made(owner);
  expect(await owner.call('PATCH', `${projects}/${project}`, { name: 'Studies', expected: 1 })).toMatchObject({ status: 200, body: { name: 'Studies', revision: 2 } });
  expect(await owner.call('PATCH', `${projects}/${project}`, { name: 'Late', expected: 1 })).toMatchObject({ status: 409, body: { _tag: 'ProjectConflict', revision: 2 } });
  expect(await owner.call('PATCH', '/v1/organization', { name: 'New Ltd', expected: 1 })).toMatchObject({ status: 200, body: { name: 'New Ltd', revision: 2 } });
  expect(await owner.call('PATCH', '/v1/organization', { name: 'Late Ltd', expected: 1 })).toMatchObject({ status: 409, body: { _tag: 'OrganizationConflict', revision: 2 } });
});

test('403: who may only look renames nothing, but where they run the project', async () => {
  const [viewer, mine, other] = [await app.createMember(owner, 'viewer'), await made(owner), await made(owner)];
  expect((await owner.call('PUT', rolesIn(mine), { expected: 1, members: [{ member: viewer.memberId, role: 'admin' }] })).status).toBe(200);
  expect((await viewer.call('PATCH', `${projects}/${mine}`, { name: 'Theirs', expected: 2 })).status).toBe(200);
  expect(await viewer.call('PATCH', `${projects}/${other}`, { name: 'Theirs', expected: 1 })).toMatchObject({ status: 403, body: { permission: 'projects.change' } });
  expect((await viewer.call('PATCH', '/v1/organization', { name: 'Theirs', expected: 1 })).status).toBe(403);
  expect((await viewer.call('POST', projects, { name: 'Theirs' })).status).toBe(403);
});

test('200: a role in a project counts there with the next request, and nowhere else', async () => {
  const [viewer, project] = [await app.createMember(owner, 'viewer'), await made(owner)];
  const rename = (name: string, expected: number) => viewer.call('PATCH', `${projects}/${project}`, { name, expected });
  expect((await rename('Early', 1)).status).toBe(403);
  const set = await owner.call('PUT', rolesIn(project), { expected: 1, members: [{ member: viewer.memberId, role: 'admin' }] });
  expect(set).toMatchObject({ status: 200, body: { revision: 2, members: [{ member: viewer.memberId, role: 'admin' }] } });
  expect((await rename('In time', 2)).status).toBe(200);
  expect((await owner.call('PUT', rolesIn(project), { expected: 3, members: [] })).status).toBe(200);
  expect((await rename('Late', 4)).status).toBe(403);
});

test('403: nobody gives or takes a role with permissions that they lack there', async () => {
  const [member, project] = [await app.createMember(owner), await made(owner)];
  const { id, token } = (await owner.call('POST', '/v1/me/tokens', { name: 'Narrow' })).body as { id: string; token: string };
  await outside.query(`update credential set scopes = '{projects.read,projects.change}' where id = $1`, [fromPublicId('token', id)]);
  const narrow = app.as(token);
  const before = (await owner.call('GET', rolesIn(project))).text;
  const mine = { member: owner.memberId, role: 'admin' };
  expect(await narrow('PUT', rolesIn(project), { expected: 1, members: [mine, { member: member.memberId, role: 'viewer' }] })).toMatchObject({
    status: 403,
    body: { _tag: 'Forbidden' },
  });
  expect((await narrow('PUT', rolesIn(project), { expected: 1, members: [] })).status).toBe(403);
  expect((await member.call('PUT', rolesIn(project), { expected: 1, members: [] })).status).toBe(403);
  expect((await owner.call('GET', rolesIn(project))).text).toBe(before);
  expect((await narrow('PUT', rolesIn(project), { expected: 1, members: [mine] })).status).toBe(200);
});

test.each([
  ['that nobody has', (id: string) => [{ member: id, role: 'viewer' }, { member: 'mem_01k0000000e00800000000000g', role: 'viewer' }]], // prettier-ignore
  ['twice', (id: string) => [{ member: id, role: 'viewer' }, { member: id, role: 'admin' }]], // prettier-ignore
  ['that is none', (id: string) => [{ member: id, role: 'viewer' }, { member: 'nobody', role: 'viewer' }]], // prettier-ignore
])('400: a role for an id %s is refused, and nothing is changed', async (_, members) => {
  const project = await made(owner);
  expect(await owner.call('PUT', rolesIn(project), { expected: 1, members: members(owner.memberId) })).toMatchObject({
    status: 400,
    body: { _tag: 'ProjectMemberInvalid', field: 'members[1].member' },
  });
  expect((await owner.call('GET', rolesIn(project))).body).toMatchObject({ revision: 1, members: [{ role: 'admin' }] });
});

test('404: another organization’s project is missing, for members of every kind', async () => {
  const [project, stranger] = [await made(owner), await app.createTenant()];
  for (const [method, path, body] of [
    ['GET', `${projects}/${project}`, undefined],
    ['PATCH', `${projects}/${project}`, { name: 'Mine', expected: 1 }],
    ['GET', rolesIn(project), undefined],
    ['PUT', rolesIn(project), { expected: 1, members: [] }],
  ] as const)
    expect(await stranger.call(method, path, body)).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
});

test('a credential for some projects sees those, and nothing that tells of the others', async () => {
  const owner = await app.createTenant();
  const [, second, third] = await Promise.all(['Second', 'Third', 'Fourth'].map((name) => owner.call('POST', '/v1/projects', { name })));
  const ids = [second!.body['id'], third!.body['id']];
  const { body } = await owner.call('POST', '/v1/me/tokens', { name: 'Narrow', projects: ids });
  const narrow = app.as(body['token'] as string);
  const listed = (await narrow('GET', '/v1/projects')).body['items'] as { id: string }[];
  expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const paged = await narrow('GET', `/v1/projects?limit=1&after=${listed[0]!.id}`);
  expect(paged.body).toMatchObject({ items: [{ id: listed[1]!.id }], next: null });
  for (const path of ['/v1/organization/audit', '/v1/organization/project-purges', '/v1/api-keys', '/v1/organization/identity-providers'])
    expect({ path, status: (await narrow('GET', path)).status }).toEqual({ path, status: 403 });
  expect((await narrow('GET', `/v1/projects/${listed[0]!.id}/audit`)).status).toBe(200);
});
