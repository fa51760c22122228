import { connectDirectory, memberOf, openWorld, patchOf, person, type Connected, type World } from './world.js';

const rules = {
  groupRoles: [
    { group: 'openbot-admins', role: 'admin' },
    { group: 'ext-auditors', role: 'auditor' },
  ],
  defaultRole: 'member',
};

let world: World;
let ours: Connected;
beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  ours = await connectDirectory(world, rules);
});
afterAll(() => world.close());

const user = async (more: object = {}): Promise<{ id: string; email: string }> => {
  const sent = person(more);
  const made = await ours.scim('POST', '/Users', sent);
  if (made.status !== 201) throw new Error(made.text);
  return { id: made.body.id, email: sent.userName };
};
const group = async (displayName: string, members: readonly string[] = [], more: object = {}): Promise<string> => {
  const made = await ours.scim('POST', '/Groups', { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], displayName, members: members.map((value) => ({ value })), ...more });
  if (made.status !== 201) throw new Error(made.text);
  return made.body.id;
};
const roleOf = async ({ email }: { email: string }): Promise<string> => (await memberOf(ours.owner, email)).role;
const patch = (id: string, ...operations: object[]) => ours.scim('PATCH', `/Groups/${id}`, patchOf(...operations));
const membersOf = async (id: string): Promise<string[]> => ((await ours.scim('GET', `/Groups/${id}`)).body.members as { value: string }[]).map(({ value }) => value).sort();

test('what a group is mapped to, by its name or its external id, is what its members are: from each change on', async () => {
  const [ada, grace] = [await user(), await user()];
  const admins = await group('OpenBot-Admins', [ada.id]);
  // A name is what the rules say, to the letter.
  expect(await roleOf(ada)).toBe('member');
  expect((await ours.scim('PUT', `/Groups/${admins}`, { displayName: 'openbot-admins', members: [{ value: ada.id }] })).status).toBe(200);
  expect(await roleOf(ada)).toBe('admin');
  expect((await patch(admins, { op: 'Add', path: 'members', value: [{ value: grace.id }] })).status).toBe(204);
  expect(await roleOf(grace)).toBe('admin');
  const auditors = await group('Whatever', [ada.id], { externalId: 'ext-auditors' });
  expect(await roleOf(ada)).toBe('admin');
  await patch(admins, { op: 'Remove', path: `members[value eq "${ada.id}"]` });
  expect(await roleOf(ada)).toBe('auditor');
  expect((await ours.scim('DELETE', `/Groups/${auditors}`)).status).toBe(204);
  expect(await roleOf(ada)).toBe('member');
  await patch(admins, { op: 'replace', value: { id: admins, displayName: 'others' } });
  expect(await roleOf(grace)).toBe('member');
});

test('members come and go in every form', async () => {
  const [a, b, c] = [(await user()).id, (await user()).id, (await user()).id];
  const id = await group('All', [a]);
  const all = (...ids: string[]) => ids.sort();
  await patch(id, { op: 'add', path: 'members', value: [{ value: b }, { value: c, display: 'C' }] });
  expect(await membersOf(id)).toEqual(all(a, b, c));
  await patch(id, { op: 'Remove', path: 'members', value: [{ value: b }] });
  expect(await membersOf(id)).toEqual(all(a, c));
  await patch(id, { op: 'remove', path: `members[value eq "${a}" or value eq "${c}"]` }, { op: 'add', path: 'members', value: { value: c } });
  expect(await membersOf(id)).toEqual([c]);
  await patch(id, { op: 'replace', path: 'members', value: [{ value: a }, { value: b }] });
  expect(await membersOf(id)).toEqual(all(a, b));
  await patch(id, { op: 'add', value: { members: [{ value: c }], externalId: 'ext' } });
  expect(await membersOf(id)).toEqual(all(a, b, c));
  await patch(id, { op: 'remove', path: 'members' });
  expect(await membersOf(id)).toEqual([]);
  expect((await ours.scim('GET', `/Groups/${id}?excludedAttributes=members`)).body).toMatchObject({ displayName: 'All', externalId: 'ext' });
  expect((await ours.scim('GET', `/Groups/${id}?excludedAttributes=members`)).body).not.toHaveProperty('members');
});

test('400: nobody is in a group of whom the directory has not told, and a refused change changes nothing', async () => {
  const [a, id] = [(await user()).id, await group('All')];
  const stranger = await connectDirectory(world, {}, ['stranger.example']);
  const theirs = (await stranger.scim('POST', '/Users', person({ emails: [{ value: 'eve@stranger.example' }] }))).body.id as string;
  for (const value of ['nobody', 'duser_01k0w3j9v7e8t9q0c5m2x4z6b8', theirs, id]) {
    const refused = await patch(id, { op: 'add', path: 'members', value: [{ value: a }, { value }] });
    expect(refused).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
  }
  expect((await patch(id, { op: 'replace', path: 'displayName', value: '' })).body).toMatchObject({ scimType: 'invalidValue' });
  expect((await patch(id, { op: 'remove', path: 'members[display eq "A"]' })).body).toMatchObject({ scimType: 'invalidFilter' });
  expect((await patch(id, { op: 'replace', path: 'id', value: 'x' })).body).toMatchObject({ scimType: 'mutability' });
  expect(await membersOf(id)).toEqual([]);
  const missing = await ours.scim('GET', '/Groups/dgroup_01k0w3j9v7e8t9q0c5m2x4z6b8');
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { displayName: 'Theirs' }],
    ['PATCH', patchOf({ op: 'remove', path: 'members' })],
    ['DELETE', undefined],
  ] as const) {
    const answer = await stranger.scim(method, `/Groups/${id}`, body);
    expect([answer.status, answer.body]).toEqual([404, missing.body]);
  }
});

test('who needs a group waits for it, and is out without one; owners are what people made them', async () => {
  ours = await connectDirectory(world, { ...rules, defaultRole: null });
  const ada = await user();
  expect(await memberOf(ours.owner, ada.email)).toMatchObject({ role: 'viewer', suspendedBy: ['directory'] });
  await ours.scim('PATCH', `/Users/${ada.id}`, patchOf({ op: 'replace', path: 'active', value: true }));
  expect(await memberOf(ours.owner, ada.email)).toMatchObject({ suspendedBy: ['directory'] });
  const admins = await group('openbot-admins', [ada.id]);
  expect(await memberOf(ours.owner, ada.email)).toMatchObject({ role: 'admin', suspendedBy: [] });
  await patch(admins, { op: 'remove', path: 'members' });
  expect(await memberOf(ours.owner, ada.email)).toMatchObject({ suspendedBy: ['directory'] });
  const olivia = (await ours.scim('POST', '/Users', person({ emails: [{ value: 'olivia@example.com' }] }))).body.id as string;
  await patch(admins, { op: 'add', path: 'members', value: [{ value: olivia }] });
  await patch(admins, { op: 'remove', path: 'members' });
  expect(await memberOf(ours.owner, 'olivia@example.com')).toMatchObject({ role: 'owner', suspendedBy: [] });
});

test('groups are looked through, and users show theirs', async () => {
  const { id } = await user();
  const [first, second] = [await group('First', [id], { externalId: 'one' }), await group('Second')];
  const find = async (filter: string) => (await ours.scim('GET', `/Groups?filter=${encodeURIComponent(filter)}`)).body.Resources.map((each: { id: string }) => each.id);
  expect(await find('displayName eq "first"')).toEqual([first]);
  expect(await find('externalId eq "one"')).toEqual([first]);
  expect(await find(`members.value eq "${id}"`)).toEqual([first]);
  expect(await find(`members[value eq "${id}"] or displayName eq "Second"`)).toEqual([first, second]);
  expect(await find(`not (members pr)`)).toEqual([second]);
  expect((await ours.scim('GET', `/Users/${id}`)).body.groups).toEqual([{ value: first, display: 'First', type: 'direct' }]);
  expect((await ours.scim('PATCH', `/Groups/${second}?attributes=displayName`, patchOf({ op: 'replace', path: 'displayName', value: 'Third' }))).body).toEqual({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    id: second,
    displayName: 'Third',
  });
});

test('a thousand who come at once are one change, and become what the group is mapped to', async () => {
  const count = 1_000;
  await world.outside.query(
    `with made as (insert into member (organization_id, id, name, email, role) select $1, gen_random_uuid(), 'P', 'p' || n || '@example.com', 'member' from generate_series(1, $3) n returning id, email)
     insert into directory_user (organization_id, id, provider_id, member_id, user_name, emails, active, in_groups, resource)
     select $1, gen_random_uuid(), (select id from identity_provider where organization_id = $1 limit 1), id, email, array[email], true, false, jsonb_build_object('userName', email) from made where $2`,
    [ours.owner.organizationId, true, count],
  );
  const ids: string[] = [];
  for (let startIndex = 1; startIndex <= count; startIndex += 200)
    ids.push(...(await ours.scim('GET', `/Users?startIndex=${startIndex}&count=200&attributes=id`)).body.Resources.map(({ id }: { id: string }) => id));
  expect(new Set(ids).size).toBe(count);
  const admins = await group('openbot-admins');
  const added = await patch(admins, ...ids.map((value) => ({ op: 'Add', path: 'members', value: [{ value }] })));
  expect(added.status).toBe(204);
  expect(added.headers.get('etag')).toBe('W/"2"');
  const { rows } = await world.outside.query(`select role, count(*)::int as members from member where organization_id = $1 and email like 'p%' group by role`, [
    ours.owner.organizationId,
  ]);
  expect(rows).toEqual([{ role: 'admin', members: count }]);
  expect(await membersOf(admins)).toHaveLength(count);
  expect((await patch(admins, ...Array.from({ length: 2_001 }, () => ({ op: 'remove', path: 'members' })))).body).toMatchObject({ scimType: 'tooMany' });
});
