import { Client } from 'pg';
import { invitationsFromSource } from '@contexts/invitations/invitation-attempts.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Answer, type Caller, type TestApp } from '@test/support/app.js';
import { Browser, goodPassword, type PageAnswer } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
beforeEach(async () => {
  owner = await app.createTenant();
  // Every test begins with all its tries.
  await outside.query('delete from rate_bucket');
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const path = '/v1/organization/invitations';
const ada = 'ada@example.com';
const invite = (by: Caller, more: object = {}): Promise<Answer> => by.call('POST', path, { email: ada, ...more });
const tokenOf = ({ status, body, text }: Answer): string => {
  if (status >= 300) throw new Error(text);
  const link = body['link'] as string;
  expect(link).toBe(`http://localhost:${new URL(app.url).port}/auth/invitation#token=${link.split('=')[1]}`);
  return link.split('=')[1]!;
};
const look = (token: string): Promise<PageAnswer> => new Browser(app.url).ask('POST', '/auth/invitations/look', { body: { token } });
const accept = (token: string, more: object = {}, into = new Browser(app.url)): Promise<PageAnswer> => into.ask('POST', '/auth/invitations/accept', { body: { token, ...more } });
const list = async (by = owner) => ((await by.call('GET', path)).body as { items?: Record<string, unknown>[] }).items!;
const people = async (): Promise<{ id: string; email: string }[]> =>
  (await outside.query<{ id: string; email: string }>(`select id, email from member where organization_id = $1 and lower(email) = $2`, [owner.organizationId, ada])).rows;
const projectOf = async (by: Caller): Promise<string> => ((await by.call('GET', '/v1/projects')).body as { items?: { id: string }[] }).items![0]!.id;
const missing = { status: 404, body: { _tag: 'InvitationNotFound' } };

describe('an invitation', () => {
  test('is looked at, and makes a member with exactly its address, its roles and a session', async () => {
    const project = await projectOf(owner);
    const made = await invite(owner, { email: 'Ada@Example.com', role: 'viewer', projects: [{ id: project, role: 'member' }], name: 'Ada', expiresInMs: 3_600_000 });
    expect(made).toMatchObject({
      status: 201,
      body: { email: 'Ada@Example.com', name: 'Ada', role: 'viewer', projects: [{ id: project, role: 'member' }], passwordSignIn: false, invitedBy: owner.memberId },
    });
    const token = tokenOf(made);
    const { link: _, ...shown } = made.body;
    expect(await list()).toEqual([shown]);
    for (let twice = 0; twice < 2; twice += 1)
      expect(await look(token)).toMatchObject({ status: 200, body: { organization: 'Example', email: 'Ada@Example.com', role: 'viewer', passwordSignIn: false } });

    const browser = new Browser(app.url);
    expect((await accept(token, {}, browser)).status).toBe(200);
    expect((await browser.ask('GET', '/v1/me')).body).toMatchObject({ name: 'Ada' });
    const [person] = await people();
    expect(person!.email).toBe('Ada@Example.com');
    expect((await owner.call('GET', `/v1/organization/members/${toPublicId('member', person!.id)}`)).body).toMatchObject({ role: 'viewer', kind: 'person', suspended: false });
    expect((await owner.call('GET', `/v1/projects/${project}/members`)).body).toMatchObject({
      revision: 2,
      members: [{ member: toPublicId('member', person!.id), role: 'member' }],
    });
    expect(await list()).toEqual([]);
    expect([await look(token), await accept(token)]).toMatchObject([missing, missing]);
    expect((await outside.query(`select member_id, password_sign_in from invitation where organization_id = $1`, [owner.organizationId])).rows).toEqual([
      { member_id: person!.id, password_sign_in: false },
    ]);
    const { rows } = await outside.query(
      `select action, member_id as by from audit_inbox where organization_id = $1 and (member_id = $2 or action like 'invitation%') order by action`,
      [owner.organizationId, person!.id],
    );
    expect(rows).toEqual([
      { action: 'invitation.accepted', by: person!.id },
      { action: 'invitation.created', by: fromPublicId('member', owner.memberId) },
      { action: 'member.created', by: person!.id },
      { action: 'project.role_set', by: person!.id },
      { action: 'session.started', by: person!.id },
    ]);
  });

  test('with a password makes an account that signs in, and one without takes none', async () => {
    const token = tokenOf(await invite(owner, { passwordSignIn: true }));
    expect(await accept(token)).toMatchObject({ status: 400, body: { _tag: 'PasswordMissing', field: 'password' } });
    expect(await accept(token, { password: 'Password1234' })).toMatchObject({ status: 400, body: { _tag: 'PasswordRefused', reason: 'common' } });
    expect(await accept(token, { password: ada })).toMatchObject({ status: 400, body: { _tag: 'PasswordRefused', reason: 'your-name' } });
    expect((await accept(token, { password: goodPassword, name: 'Countess' })).status).toBe(200);
    const login = { organization: toPublicId('organization', owner.organizationId), email: ada, password: goodPassword };
    expect((await new Browser(app.url).ask('POST', '/auth/login', { body: login })).status).toBe(200);

    const without = tokenOf(await invite(owner, { email: 'bob@example.com' }));
    expect(await accept(without, { password: goodPassword })).toMatchObject({ status: 409, body: { _tag: 'PasswordNotAllowed' } });
    expect((await accept(without)).status).toBe(200);
  });

  test('of many acceptances at once one makes a member', async () => {
    const token = tokenOf(await invite(owner));
    const answers = await Promise.all(Array.from({ length: 6 }, () => accept(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404, 404]);
    expect(await people()).toHaveLength(1);
    expect((await outside.query(`select 1 from credential where organization_id = $1 and kind = 'session'`, [owner.organizationId])).rows).toHaveLength(1);
  });

  test('404: one that is none, has expired, was revoked or renewed is one answer, and makes nobody', async () => {
    const [first, token] = [tokenOf(await invite(owner, { email: 'bob@example.com' })), tokenOf(await invite(owner))];
    const [other, id] = (await list()).map((shown) => String(shown['id']));
    expect((await owner.call('DELETE', `${path}/${other}`)).status).toBe(204);
    const renewed = await owner.call('POST', `${path}/${id}/renew`, { expiresInMs: 3_600_000 });
    expect(renewed.status).toBe(200);
    const answers = [await accept(first), await look(first), await accept(token), await look(token), await accept('obi_x'), await accept(owner.token), await look(owner.token)];
    await outside.query(`update invitation set expires_at = clock_timestamp() where organization_id = $1`, [owner.organizationId]);
    answers.push(await accept(tokenOf(renewed)), await look(tokenOf(renewed)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]).toMatchObject(missing);
    expect(await people()).toEqual([]);
    expect((await accept(tokenOf(await owner.call('POST', `${path}/${id}/renew`, {})))).status).toBe(200);
    expect(await owner.call('POST', `${path}/${id}/renew`, {})).toMatchObject(missing);
    expect(await owner.call('DELETE', `${path}/${id}`)).toMatchObject(missing);
  });

  test('409: who became a member otherwise meanwhile is told so, and keeps what they are', async () => {
    const token = tokenOf(await invite(owner, { role: 'admin' }));
    await app.createMember(owner, 'viewer', 'ADA@example.com');
    expect(await accept(token)).toMatchObject({ status: 409, body: { _tag: 'MemberConflict' } });
    expect(await invite(owner)).toMatchObject({ status: 409, body: { _tag: 'MemberConflict' } });
    expect((await outside.query(`select role from member where organization_id = $1 and lower(email) = $2`, [owner.organizationId, ada])).rows).toEqual([{ role: 'viewer' }]);
  });

  test('a project that is deleted meanwhile is left out, and the rest counts', async () => {
    const { id } = (await owner.call('POST', '/v1/projects', { name: 'Research' })).body as { id: string };
    const made = await invite(owner, { role: 'viewer', projects: [{ id, role: 'member' }] });
    expect((await owner.call('DELETE', `/v1/projects/${id}?expected=1`)).status).toBeLessThan(300);
    const renewed = await owner.call('POST', `${path}/${(made.body as { id: string }).id}/renew`, {});
    expect((await accept(tokenOf(renewed))).status).toBe(200);
    expect((await outside.query(`select 1 from project_role where project_id = $1 and member_id = $2`, [fromPublicId('project', id), (await people())[0]!.id])).rows).toEqual([]);
  });

  test('409: an address is invited once at a time, of two at once too', async () => {
    const answers = await Promise.all([invite(owner), invite(owner, { email: 'ADA@example.com' })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await invite(owner)).toMatchObject({ status: 409, body: { _tag: 'InvitationConflict' } });
  });

  test('another organization neither sees it nor ends it, and the same address is free there', async () => {
    const { id } = (await invite(owner)).body as { id: string };
    const stranger = await app.createTenant();
    const none = await stranger.call('DELETE', `${path}/inv_01k0w3j9v7e8t9q0c5m2x4z6b8`);
    expect(none).toMatchObject(missing);
    expect((await stranger.call('DELETE', `${path}/${id}`)).text).toBe(none.text);
    expect((await stranger.call('POST', `${path}/${id}/renew`, {})).text).toBe(none.text);
    expect(await list(stranger)).toEqual([]);
    expect((await invite(stranger)).status).toBe(201);
    expect(await list()).toHaveLength(1);
  });

  test('429: who tries from one place without end is told to wait', async () => {
    const token = tokenOf(await invite(owner));
    for (let tried = 0; tried < invitationsFromSource.limit; tried += 10) await Promise.all(Array.from({ length: 10 }, () => look('obi_x')));
    // A token comes back every few seconds.
    const answers = await Promise.all(Array.from({ length: 40 }, () => look(token)));
    const limited = answers.find(({ status }) => status === 429);
    expect(limited).toMatchObject({ body: { _tag: 'InvitationLimited', retryAfterMs: expect.any(Number) as number } });
    expect(limited!.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('who invites', () => {
  test('403: nobody gives a role, a project or a password that is not theirs to give', async () => {
    const [admin, project] = [await app.createMember(owner, 'admin'), await projectOf(owner)];
    const refused = { status: 403, body: { _tag: 'Forbidden' } };
    expect(await invite(admin, { role: 'owner' })).toMatchObject(refused);
    expect(await invite(admin, { passwordSignIn: true })).toMatchObject(refused);
    const member = await app.createMember(owner);
    expect(await invite(member, { role: 'viewer' })).toMatchObject({ status: 403, body: { _tag: 'Forbidden', permission: 'members.create' } });
    expect(await invite(admin, { projects: [{ id: project, role: 'viewer' }] })).toMatchObject({ status: 201 });
    const { id } = (await invite(owner, { email: 'bob@example.com', role: 'owner' })).body as { id: string };
    expect(await admin.call('POST', `${path}/${id}/renew`, {})).toMatchObject(refused);
    expect(await invite(owner, { email: 'eve@example.com', projects: [{ id: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8', role: 'viewer' }] })).toMatchObject({
      status: 404,
      body: { _tag: 'ProjectNotFound' },
    });
    expect(await invite(owner, { email: 'eve@example.com', projects: ['viewer', 'admin'].map((role) => ({ id: project, role })) })).toMatchObject({
      status: 400,
      body: { _tag: 'InvalidInput', field: 'projects' },
    });
  });

  test.each([
    ['demoted', (id: string) => owner.call('PATCH', `/v1/organization/members/${id}`, { expected: 1, role: 'member' })],
    ['suspended', (id: string) => owner.call('PATCH', `/v1/organization/members/${id}`, { expected: 1, suspended: true })],
    ['removed', (id: string) => owner.call('DELETE', `/v1/organization/members/${id}?expected=1`)],
  ])('has to be able to when it is accepted: of somebody who was %s it does not count, until another renews it', async (_, change) => {
    const admin = await app.createMember(owner, 'admin');
    const made = await invite(admin, { role: 'admin' });
    expect((await look(tokenOf(made))).status).toBe(200);
    expect((await change(admin.memberId)).status).toBeLessThan(300);
    expect([await look(tokenOf(made)), await accept(tokenOf(made))]).toMatchObject([missing, missing]);
    expect(await people()).toEqual([]);
    const renewed = tokenOf(await owner.call('POST', `${path}/${(made.body as { id: string }).id}/renew`, {}));
    expect((await accept(renewed)).status).toBe(200);
  });

  test('a demotion at the same time comes before the acceptance, or after it', async () => {
    const admin = await app.createMember(owner, 'admin');
    const token = tokenOf(await invite(admin));
    // Whoever holds the organization's row is the change that comes before.
    await outside.query('begin');
    await outside.query(`select 1 from organization where id = $1 for update`, [owner.organizationId]);
    await outside.query(`update member set role = 'member' where id = $1`, [fromPublicId('member', admin.memberId)]);
    const accepting = accept(token);
    await eventually(async () => (await outside.query(`select 1 from pg_locks where not granted`)).rowCount === 1);
    await outside.query('commit');
    expect(await accepting).toMatchObject(missing);
    expect(await people()).toEqual([]);
  });
});
