import { IssueTokenCommand } from '@contexts/sign-in/public/issue-token.command.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp } from '@test/support/app.js';
import { addDirectory, connectDirectory, memberOf, openWorld, patchOf, person, scimOf, type Connected, type World } from './world.js';

const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error';
const deactivate = patchOf({ op: 'replace', path: 'active', value: false });
const activate = patchOf({ op: 'replace', path: 'active', value: true });

let world: World;
let ours: Connected;
beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  ours = await connectDirectory(world);
});
afterAll(() => world.close());

const create = async (more: object = {}) => {
  const sent = person(more);
  const made = await ours.scim('POST', '/Users', sent);
  if (made.status !== 201) throw new Error(made.text);
  return { sent, id: made.body.id as string, made };
};
const actions = async (): Promise<string[]> => {
  const { rows } = await world.outside.query<{ action: string }>(
    `select action from (select action, at from audit_entry where organization_id = $1 union all select action, at from audit_inbox where organization_id = $1) t`,
    [ours.owner.organizationId],
  );
  return rows.map(({ action }) => action);
};

test('201: a person whom a directory tells of becomes a member, and is read as they were sent but for what is secret', async () => {
  const { sent, made } = await create({ password: 'swordfish', nickName: 'Countess', 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'Engines' } });
  expect(made.headers.get('content-type')).toBe('application/scim+json; charset=utf-8');
  expect(made.headers.get('etag')).toBe('W/"1"');
  expect(made.headers.get('location')).toBe(`http://localhost:${new URL(world.app.url).port}/scim/v2/Users/${made.body.id}`);
  const { password: _, schemas: __, ...kept } = sent as { password?: unknown; schemas?: unknown };
  expect(made.body).toMatchObject(kept);
  expect(made.body.schemas).toContain('urn:ietf:params:scim:schemas:extension:enterprise:2.0:User');
  expect(made.body.meta).toMatchObject({ resourceType: 'User', version: 'W/"1"' });
  expect(made.text).not.toContain('swordfish');
  expect((await ours.scim('GET', `/Users/${made.body.id}`)).body).toEqual(made.body);
  expect(await memberOf(ours.owner, sent.userName)).toMatchObject({
    role: 'member',
    suspended: false,
    suspendedBy: [],
    name: 'Ada ' + (sent['name'] as { familyName: string }).familyName,
  });
  const stored = await world.outside.query('select resource::text from directory_user');
  expect(JSON.stringify(stored.rows)).not.toContain('swordfish');
  expect(await actions()).toEqual(expect.arrayContaining(['member.created', 'directory_user.created', 'scim_token.created']));
});

test('400: nobody comes in with an address of a domain that is not verified for this provider', async () => {
  const refused = await ours.scim('POST', '/Users', person({ userName: 'eve@elsewhere.example', emails: [{ value: 'eve@elsewhere.example' }] }));
  expect(refused).toMatchObject({ status: 400, body: { schemas: [errorSchema], status: '400', scimType: 'invalidValue', detail: expect.stringContaining('not verified') } });
  const other = await addDirectory(world, ours.owner);
  expect((await other.scim('POST', '/Users', person())).body).toMatchObject({ scimType: 'invalidValue' });
});

test('409: a userName is taken once in a directory, whatever its case', async () => {
  const { sent } = await create();
  expect((await ours.scim('POST', '/Users', { ...sent, userName: sent.userName.toUpperCase(), emails: [{ value: 'other@example.com' }] })).body).toMatchObject({
    status: '409',
    scimType: 'uniqueness',
  });
});

describe('a member who was there before', () => {
  test('is linked by an address whose domain is verified, keeps their role, and is stopped and let in by the directory', async () => {
    const admin = await world.app.createMember(ours.owner, 'admin', 'grace@example.com');
    const { id } = await create({ userName: 'grace@example.com', emails: [{ value: 'GRACE@example.com' }] });
    expect((await memberOf(ours.owner, 'grace@example.com')).role).toBe('admin');
    expect((await ours.scim('PATCH', `/Users/${id}`, deactivate)).body).toMatchObject({ active: false });
    expect((await admin.call('GET', '/v1/me')).status).toBe(401);
    expect((await ours.scim('PATCH', `/Users/${id}`, activate)).body).toMatchObject({ active: true });
    expect((await admin.call('GET', '/v1/me')).status).toBe(200);
    expect(await actions()).toEqual(expect.arrayContaining(['member.stopped', 'member.reactivated']));
  });

  test('409: not where they sign in by another provider, nor where a directory tells of them already', async () => {
    const grace = await world.app.createMember(ours.owner, 'member', 'grace@example.com');
    const other = await addDirectory(world, ours.owner);
    await world.outside.query(`insert into linked_identity (organization_id, id, provider_id, subject, member_id) values ($1, gen_random_uuid(), $2, 'somebody', $3)`, [
      ours.owner.organizationId,
      fromPublicId('identityProvider', other.providerId),
      fromPublicId('member', grace.memberId),
    ]);
    expect((await ours.scim('POST', '/Users', person({ emails: [{ value: 'grace@example.com' }] }))).body).toMatchObject({ status: '409', scimType: 'uniqueness' });
    const { sent } = await create();
    expect((await ours.scim('POST', '/Users', person({ emails: sent['emails'] }))).body).toMatchObject({ status: '409', scimType: 'uniqueness' });
  });

  test.each<[string, (id: string) => Promise<{ status: number }>]>([
    ['active: false', (id) => ours.scim('PATCH', `/Users/${id}`, deactivate)],
    ['DELETE', (id) => ours.scim('DELETE', `/Users/${id}`)],
  ])('whom people removed and invited anew is the same person to the directory: %s stops who they are now', async (_, stop) => {
    const { sent, id } = await create();
    const before = await memberOf(ours.owner, sent.userName);
    await ours.owner.call('DELETE', `/v1/organization/members/${before.id}?expected=1`);
    expect((await ours.scim('PATCH', `/Users/${id}`, activate)).status).toBe(200);
    expect(await memberOf(ours.owner, sent.userName)).toBeUndefined();
    const again = await world.app.createMember(ours.owner, 'member', sent.userName);
    expect((await again.call('GET', '/v1/me')).status).toBe(200);
    expect((await stop(id)).status).toBeLessThan(300);
    expect((await again.call('GET', '/v1/me')).status).toBe(401);
    expect(await memberOf(ours.owner, sent.userName)).toMatchObject({ id: again.memberId, suspendedBy: ['directory'] });
  });

  test('400: not where people removed them', async () => {
    const grace = await world.app.createMember(ours.owner, 'member', 'grace@example.com');
    await ours.owner.call('DELETE', `/v1/organization/members/${grace.memberId}?expected=1`);
    expect((await ours.scim('POST', '/Users', person({ emails: [{ value: 'grace@example.com' }] }))).body).toMatchObject({ status: '400', scimType: 'invalidValue' });
  });
});

describe('active: false', () => {
  const forms: readonly [string, (id: string, sent: object) => Promise<{ status: number }>][] = [
    ['a path', (id) => ours.scim('PATCH', `/Users/${id}`, deactivate)],
    ['no path', (id) => ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }))],
    ['Entra’s text', (id) => ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }))],
    ['Add', (id) => ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'Add', path: 'active', value: false }))],
    ['a path with a schema', (id) => ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:ACTIVE', value: false }))],
    ['PUT', (id, sent) => ours.scim('PUT', `/Users/${id}`, { ...sent, active: false })],
    ['DELETE', (id) => ours.scim('DELETE', `/Users/${id}`)],
  ];

  test.each(forms)('by %s: nothing of theirs counts any more', async (_, stop) => {
    const { sent, id } = await create();
    const { id: member } = await memberOf(ours.owner, sent.userName);
    const context = { organizationId: ours.owner.organizationId, projectId: null };
    const { token } = await world.app.commands.execute(new IssueTokenCommand(context, fromPublicId('member', member)!, { name: 'Laptop', expiresInMs: null }));
    expect((await world.app.as(token)('GET', '/v1/me')).status).toBe(200);
    expect((await stop(id, sent)).status).toBeLessThan(300);
    expect((await world.app.as(token)('GET', '/v1/me')).status).toBe(401);
    expect(await memberOf(ours.owner, sent.userName)).toMatchObject({ suspended: true, suspendedBy: ['directory'] });
  });

  test('a PUT that does not say keeps it', async () => {
    const { sent, id } = await create();
    await ours.scim('PATCH', `/Users/${id}`, deactivate);
    const { active: _, ...silent } = sent as { active?: unknown };
    expect((await ours.scim('PUT', `/Users/${id}`, silent)).body.active).toBe(false);
  });

  test('409: an administrator lets nobody in whom the directory stopped, as long as there is one; and the directory nobody whom an administrator suspended', async () => {
    const { sent, id } = await create();
    await ours.scim('PATCH', `/Users/${id}`, deactivate);
    const { id: member, revision } = await memberOf(ours.owner, sent.userName);
    const path = `/v1/organization/members/${member}`;
    expect(await ours.owner.call('PATCH', path, { expected: revision, suspended: false })).toMatchObject({
      status: 409,
      body: { _tag: 'StoppedByDirectory', identityProvider: ours.providerId },
    });
    expect((await ours.owner.call('PATCH', path, { expected: revision, suspended: true })).body).toMatchObject({ suspendedBy: ['administrator', 'directory'] });
    await ours.scim('PATCH', `/Users/${id}`, activate);
    const suspended = await memberOf(ours.owner, sent.userName);
    expect(suspended).toMatchObject({ suspended: true, suspendedBy: ['administrator'] });
    await ours.scim('PATCH', `/Users/${id}`, deactivate);
    const both = await memberOf(ours.owner, sent.userName);
    expect((await ours.owner.call('PATCH', path, { expected: both.revision, suspended: false })).body).toMatchObject({ suspended: true, suspendedBy: ['directory'] });
    await ours.owner.call('DELETE', `/v1/organization/identity-providers/${ours.providerId}`);
    const alone = await memberOf(ours.owner, sent.userName);
    expect((await ours.owner.call('PATCH', path, { expected: alone.revision, suspended: false })).body).toMatchObject({ suspended: false, suspendedBy: [] });
  });

  test('409: the last owner who may act is stopped by no directory, in any form, and neither are two at once', async () => {
    const second = await world.app.createMember(ours.owner, 'owner', 'second@example.com');
    const ids = [];
    for (const email of ['olivia@example.com', 'second@example.com']) ids.push((await create({ userName: email, emails: [{ value: email }] })).id);
    const answers = await Promise.all(ids.map((id) => ours.scim('PATCH', `/Users/${id}`, deactivate)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const last = ids[answers.findIndex(({ status }) => status === 409)]!;
    expect(answers.find(({ status }) => status === 409)!.body).toMatchObject({ schemas: [errorSchema], detail: expect.stringContaining('last owner') });
    expect((await ours.scim('DELETE', `/Users/${last}`)).status).toBe(409);
    expect((await ours.scim('GET', `/Users/${last}`)).body.active).toBe(true);
    const alive = await Promise.all([ours.owner, second].map(({ call }) => call('GET', '/v1/me')));
    expect(alive.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  test('after a DELETE the same person is told of anew, and is who they were', async () => {
    const { sent, id } = await create();
    const before = await memberOf(ours.owner, sent.userName);
    expect((await ours.scim('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await ours.scim('GET', `/Users/${id}`)).status).toBe(404);
    const again = await ours.scim('POST', '/Users', sent);
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(id);
    expect(await memberOf(ours.owner, sent.userName)).toMatchObject({ id: before.id, suspended: false });
  });
});

describe('lists', () => {
  test('are looked through, paged and projected', async () => {
    const made = [];
    for (let each = 0; each < 5; each += 1) made.push(await create({ displayName: `Person ${each}` }));
    const [first, second] = made as [(typeof made)[0], (typeof made)[0]];
    const find = async (filter: string) => (await ours.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.Resources.map(({ id }: { id: string }) => id);
    expect(await find(`userName eq "${first.sent.userName.toUpperCase()}"`)).toEqual([first.id]);
    expect(await find(`externalId eq "${String(first.sent['externalId'])}"`)).toEqual([first.id]);
    expect(await find(`id eq "${first.id}"`)).toEqual([first.id]);
    expect(await find(`id eq "nothing"`)).toEqual([]);
    expect(await find(`emails.value eq "${second.sent.userName}"`)).toEqual([second.id]);
    expect(await find(`emails[type eq "work" and value eq "${second.sent.userName}"]`)).toEqual([second.id]);
    expect(await find(`emails[type eq "work"].value eq "${second.sent.userName}"`)).toEqual([second.id]);
    expect(await find(`displayName sw "person" and not (displayName ew "0" or displayName co "n 1")`)).toEqual(made.slice(2).map(({ id }) => id));
    expect(await find(`active eq true and externalId pr`)).toHaveLength(5);
    expect(await find(`active ne true`)).toEqual([]);
    const page = await ours.scim('GET', '/Users?startIndex=2&count=2&attributes=userName,name.familyName');
    expect(page.body).toMatchObject({ totalResults: 5, startIndex: 2, itemsPerPage: 2, schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'] });
    expect(Object.keys(page.body.Resources[0]).sort()).toEqual(['id', 'name', 'schemas', 'userName']);
    expect(Object.keys(page.body.Resources[0].name)).toEqual(['familyName']);
    expect((await ours.scim('GET', `/Users/${first.id}?excludedAttributes=emails,name.givenName`)).body).not.toHaveProperty('emails');
    expect((await ours.scim('GET', '/Users?count=0')).body).toMatchObject({ totalResults: 5, itemsPerPage: 0, Resources: [] });
  });

  test.each([
    'password eq "x"',
    'name.familyName eq "x"',
    'userName gt "x"',
    'userName eq',
    'userName eq x',
    '(userName pr',
    'active eq "maybe"',
    'userName eq "a" or',
    "userName eq 'x'",
    'userName eq "\\u0000"',
    'userName eq "\0"',
    '"'.padEnd(3000, '\n'),
  ])('400 invalidFilter: %s', async (filter) => {
    const answer = await ours.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    expect(answer).toMatchObject({ status: 400, body: { schemas: [errorSchema], scimType: 'invalidFilter' } });
  });
});

test('of two who are told of at once by one userName, or one address, one is', async () => {
  const sent = person();
  const other = person({ emails: sent['emails'] });
  const answers = await Promise.all([sent, sent, other, sent].map((each) => ours.scim('POST', '/Users', each)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  expect((await ours.scim('GET', '/Users')).body.totalResults).toBe(1);
});

describe('versions', () => {
  test('412: a change for a version that is not there any more; 304 for one that is known', async () => {
    const { id } = await create();
    expect((await ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'title', value: 'Countess' }), { 'if-match': 'W/"1"' })).headers.get('etag')).toBe('W/"2"');
    for (const [method, body] of [
      ['PATCH', deactivate],
      ['PUT', person()],
      ['DELETE', undefined],
    ] as const)
      expect((await ours.scim(method, `/Users/${id}`, body, { 'if-match': 'W/"1"' })).status).toBe(412);
    expect((await ours.scim('GET', `/Users/${id}`, undefined, { 'if-none-match': 'W/"2"' })).status).toBe(304);
  });
});

describe('tokens', () => {
  test('401: a token of a person is none of a directory, nor the other way round; deleted, expired and of a provider that is off it counts no more', async () => {
    const refused = await scimOf(world.app.url, ours.owner.token)('GET', '/Users');
    expect(refused).toMatchObject({ status: 401, body: { schemas: [errorSchema], status: '401' } });
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect((await scimOf(world.app.url, null)('GET', '/ServiceProviderConfig')).status).toBe(401);
    expect((await world.app.as(ours.token)('GET', '/v1/me')).status).toBe(401);
    const path = `/v1/organization/identity-providers/${ours.providerId}`;
    const second = await ours.owner.call('POST', `${path}/scim-tokens`, { name: 'Second' });
    const other = scimOf(world.app.url, second.body['token'] as string);
    expect((await other('GET', '/Users')).status).toBe(200);
    const listed = await ours.owner.call('GET', `${path}/scim-tokens`);
    expect((listed.body['items'] as object[]).map((each) => Object.keys(each).includes('token'))).toEqual([false, false]);
    expect(listed.text).not.toContain(ours.token.slice(31));
    expect((await ours.owner.call('DELETE', `${path}/scim-tokens/${ours.tokenId}`)).status).toBe(204);
    expect((await ours.scim('GET', '/Users')).status).toBe(401);
    await ours.owner.call('PATCH', path, { expected: 1, enabled: false });
    expect((await other('GET', '/Users')).status).toBe(401);
    await ours.owner.call('PATCH', path, { expected: 2, enabled: true });
    expect((await other('GET', '/Users')).status).toBe(200);
    await world.outside.query('update scim_token set expires_at = clock_timestamp()');
    expect((await other('GET', '/Users')).status).toBe(401);
    await world.outside.query('update scim_token set expires_at = null');
    expect((await other('GET', '/Users')).status).toBe(200);
    expect((await ours.owner.call('DELETE', path)).status).toBe(204);
    expect((await other('GET', '/Users')).status).toBe(401);
    expect((await ours.owner.call('POST', `${path}/scim-tokens`, { name: 'Late' })).status).toBe(404);
  });

  test('403: only owners make one; 409: there are not more than it needs', async () => {
    const admin = await world.app.createMember(ours.owner, 'admin');
    const path = `/v1/organization/identity-providers/${ours.providerId}/scim-tokens`;
    expect((await admin.call('POST', path, { name: 'Mine' })).status).toBe(403);
    const made = await Promise.all(Array.from({ length: 12 }, (_, index) => ours.owner.call('POST', path, { name: `Token ${index}` })));
    expect(made.filter(({ status }) => status === 201)).toHaveLength(9);
    expect(made.find(({ status }) => status !== 201)).toMatchObject({ status: 409, body: { _tag: 'TooManyScimTokens', most: 10 } });
  });

  test('404: another directory and another tenant see nothing, and are answered as for what is missing', async () => {
    const { id } = await create();
    const [sibling, stranger] = [await addDirectory(world, ours.owner), await connectDirectory(world, {}, ['stranger.example'])];
    const missing = await ours.scim('GET', '/Users/duser_01k0w3j9v7e8t9q0c5m2x4z6b8');
    expect(missing.status).toBe(404);
    for (const { scim } of [sibling, stranger]) {
      for (const [method, body] of [
        ['GET', undefined],
        ['PUT', person()],
        ['PATCH', deactivate],
        ['DELETE', undefined],
      ] as const) {
        const answer = await scim(method, `/Users/${id}`, body);
        expect([answer.status, answer.body]).toEqual([404, missing.body]);
      }
      expect((await scim('GET', '/Users')).body.totalResults).toBe(0);
    }
    expect((await ours.scim('GET', `/Users/${id}`)).body.active).toBe(true);
  });
});

test('what is no SCIM is refused in its form', async () => {
  expect((await ours.scim('GET', '/Nothing')).body).toMatchObject({ schemas: [errorSchema], status: '404' });
  expect((await ours.scim('POST', '/Users', '{"userName":')).body).toMatchObject({ schemas: [errorSchema], status: '400', scimType: 'invalidSyntax' });
  expect((await ours.scim('POST', '/Users', '{"a":{"__proto__":{"b":1}}}')).body).toMatchObject({ status: '400' });
  expect((await ours.scim('POST', '/Users', 'x', { 'content-type': 'text/plain' })).body).toMatchObject({ schemas: [errorSchema], status: '415' });
  expect((await ours.scim('POST', '/Users', [])).body).toMatchObject({ status: '400' });
  expect((await ours.scim('POST', '/Users', JSON.stringify(person()), { 'content-type': 'application/json' })).status).toBe(201);
  expect((await world.app.as(ours.owner.token)('POST', '/v1/bots', {}, { 'content-type': 'application/scim+json' })).status).toBe(415);
  expect((await ours.scim('PATCH', `/Users`, {}, { 'content-type': 'application/json' })).status).toBe(405);
  expect((await ours.scim('POST', '/Users', person({ nickName: 'x'.repeat(1_100_000) }))).status).toBe(413);
});

test('what a server can do is told', async () => {
  expect((await ours.scim('GET', '/ServiceProviderConfig')).body).toMatchObject({
    patch: { supported: true },
    bulk: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
  });
  expect((await ours.scim('GET', '/ResourceTypes')).body.Resources.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual(['/Users', '/Groups']);
  const { body } = await ours.scim('GET', '/Schemas');
  for (const { id } of body.Resources) expect((await ours.scim('GET', `/Schemas/${id}`)).body.id).toBe(id);
  expect((await ours.scim('GET', '/Schemas/urn:nothing')).status).toBe(404);
});

test('429: a directory has a limit of its own', async () => {
  const limited = await startTestApp(world.database, { OPENBOT_LIMIT_PROVISIONING: '3', OPENBOT_NODE: 'limited' });
  try {
    const scim = scimOf(limited.url, ours.token);
    const answers = [];
    for (let each = 0; each < 4; each += 1) answers.push(await scim('GET', '/Users'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[3]).toMatchObject({ body: { schemas: [errorSchema], status: '429' } });
    expect(Number(answers[3]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answers[0]!.headers.get('ratelimit-policy')).toBe('"provisioning";q=3;w=60');
  } finally {
    await limited.close();
  }
});
