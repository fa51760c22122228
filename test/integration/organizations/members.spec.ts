import { Client } from 'pg';
import type { OrganizationRole } from '@domain/access/roles.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase(4);
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

const pathOf = ({ memberId }: Caller): string => `/v1/organization/members/${memberId}`;
const change = (by: Caller, whom: Caller, body: object, expected = 1): Promise<Answer> => by.call('PATCH', pathOf(whom), { expected, ...body });
const remove = (by: Caller, whom: Caller, expected = 1): Promise<Answer> => by.call('DELETE', `${pathOf(whom)}?expected=${expected}`);
const roleOf = async (whom: Caller): Promise<unknown> => (await owner.call('GET', pathOf(whom))).body['role'];

test('200: a suspended member is out with the next request, and in again when it is let in', async () => {
  const member = await app.createMember(owner);
  expect(await change(owner, member, { suspended: true, name: 'Maxine' })).toMatchObject({ status: 200, body: { suspended: true, name: 'Maxine', role: 'member', revision: 2 } });
  expect((await member.call('GET', '/v1/me')).status).toBe(401);
  expect(await change(owner, member, { suspended: false }, 2)).toMatchObject({ status: 200, body: { suspended: false, revision: 3 } });
  expect((await member.call('GET', '/v1/me')).status).toBe(200);
});

test('204: a removed member is missing, their tokens and roles are gone for good, and the row stays', async () => {
  const member = await app.createMember(owner);
  const project = (await owner.call('POST', '/v1/projects', { name: 'Research' })).body['id'] as string;
  expect((await owner.call('PUT', `/v1/projects/${project}/members`, { expected: 1, members: [{ member: member.memberId, role: 'member' }] })).status).toBe(200);
  expect((await remove(owner, member)).status).toBe(204);
  expect((await member.call('GET', '/v1/me')).status).toBe(401);
  expect(await owner.call('GET', pathOf(member))).toMatchObject({ status: 404, body: { _tag: 'MemberNotFound' } });
  expect((await remove(owner, member, 2)).status).toBe(404);
  expect((await owner.call('GET', '/v1/organization/members')).body['items']).toMatchObject([{ id: owner.memberId }]);
  expect((await owner.call('GET', `/v1/projects/${project}/members`)).body['members']).toEqual([]);
  const { rows } = await outside.query(
    `select m.removed_at is not null as removed, (select count(*)::int from credential c where c.member_id = m.id and c.revoked_at is null) as tokens from member m where m.id = $1`,
    [fromPublicId('member', member.memberId)],
  );
  expect(rows).toEqual([{ removed: true, tokens: 0 }]);
});

test('the e-mail address of a removed member is free', async () => {
  const ada = () => app.createMember(owner, 'member', 'ada@example.com');
  const first = await ada();
  await expect(ada()).rejects.toThrow('MemberConflict');
  expect((await remove(owner, first)).status).toBe(204);
  expect((await ada()).memberId).not.toBe(first.memberId);
});

test.each([
  ['an admin appoints an admin', 'admin', 'member', { role: 'admin' }, 200],
  ['an admin appoints no owner', 'admin', 'member', { role: 'owner' }, 403],
  ['an admin touches no owner', 'admin', 'owner', { name: 'Under' }, 403],
  ['a member changes nobody', 'member', 'viewer', { name: 'Under' }, 403],
  ['an auditor changes nobody', 'auditor', 'viewer', { suspended: true }, 403],
] as const)('%s', async (_, asker, whom, body, status) => {
  const mayChange = asker === 'admin' && whom === 'member';
  const [by, member] = [await app.createMember(owner, asker), await app.createMember(owner, whom as OrganizationRole)];
  const before = (await owner.call('GET', pathOf(member))).text;
  expect((await change(by, member, body)).status).toBe(status);
  if (status === 200) return;
  if (!mayChange) expect((await remove(by, member)).status).toBe(status);
  expect((await owner.call('GET', pathOf(member))).text).toBe(before);
});

test('409: nobody changes their own role or suspends themselves; the last owner stays', async () => {
  const second = await app.createMember(owner, 'owner');
  expect(await change(second, second, { role: 'member' })).toMatchObject({ status: 409, body: { _tag: 'OwnMembership' } });
  expect(await change(second, second, { suspended: true })).toMatchObject({ status: 409, body: { _tag: 'OwnMembership' } });
  expect((await remove(second, second)).status).toBe(204);
  for (const body of [{ role: 'admin' }, { suspended: true }]) expect(await change(owner, owner, body)).toMatchObject({ status: 409, body: { _tag: 'LastOwner' } });
  expect(await remove(owner, owner)).toMatchObject({ status: 409, body: { _tag: 'LastOwner' } });
  expect((await change(owner, owner, { name: 'Olive' })).status).toBe(200);
});

test('409: a change of what somebody else changed since is refused', async () => {
  const member = await app.createMember(owner);
  expect((await change(owner, member, { role: 'viewer' })).status).toBe(200);
  expect(await change(owner, member, { role: 'admin' })).toMatchObject({ status: 409, body: { _tag: 'MemberRevisionConflict', revision: 2 } });
  expect(await remove(owner, member)).toMatchObject({ status: 409, body: { _tag: 'MemberRevisionConflict', revision: 2 } });
  expect(await roleOf(member)).toBe('viewer');
});

test('two owners who demote, suspend or remove each other at once: one stays an owner', async () => {
  const acts = [
    (by: Caller, whom: Caller) => change(by, whom, { role: 'member' }),
    (by: Caller, whom: Caller) => change(by, whom, { suspended: true }),
    (by: Caller, whom: Caller) => remove(by, whom),
  ];
  for (const act of acts.flatMap((one) => [one, one, one])) {
    const tenant = await app.createTenant();
    const second = await app.createMember(tenant, 'owner');
    const answers = await Promise.all([act(tenant, second), act(second, tenant)]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    const { rows } = await outside.query(`select 1 from member where organization_id = $1 and role = 'owner' and suspended_at is null and removed_at is null`, [
      tenant.organizationId,
    ]);
    expect(rows).toHaveLength(1);
  }
});

test('200: the catalogue says what each role may do', async () => {
  const { status, body } = await (await app.createMember(owner, 'viewer')).call('GET', '/v1/organization/roles');
  expect(status).toBe(200);
  expect((body['organization'] as { name: string }[]).map(({ name }) => name)).toEqual(['owner', 'admin', 'member', 'viewer', 'auditor']);
  expect((body['project'] as { name: string }[]).map(({ name }) => name)).toEqual(['admin', 'member', 'viewer']);
  expect(body['permissions']).toContainEqual({ name: 'bots.create', summary: 'Create bots' });
});
