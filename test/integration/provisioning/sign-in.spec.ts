import { WalkingBrowser } from '@test/support/walking-browser.js';
import { signInBy, told, whoIs } from '../identity-providers/world.js';
import { connectDirectory, memberOf, openWorld, patchOf, person, type Connected, type World } from './world.js';

const email = 'ada@example.com';
const rules = { groupRoles: [{ group: 'admins', role: 'admin' }], defaultRole: 'member', admits: false };

let world: World;
let ours: Connected;
let id: string;
beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  ours = await connectDirectory(world, rules);
  world.idp.person = { sub: 'ada', email, email_verified: true, name: 'Ada Example' };
  id = (await ours.scim('POST', '/Users', person({ userName: email, emails: [{ value: email }] }))).body.id;
});
afterAll(() => world.close());

async function signIn(browser = new WalkingBrowser()) {
  const { body } = await ours.owner.call('GET', `/v1/organization/identity-providers/${ours.providerId}`);
  return signInBy(browser, { id: ours.providerId, signInUrl: body['signInUrl'] as string });
}
const suspended = { status: 403, title: 'You are suspended' };

test('whom a directory told of signs in by the address, invited or not, and is told to be gone with the directory’s word', async () => {
  const browser = new WalkingBrowser();
  expect((await signIn(browser)).status).toBe(200);
  expect((await whoIs(world, browser))['id']).toBe((await memberOf(ours.owner, email)).id);
  await ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'active', value: false }));
  expect((await browser.step(`${world.url}/v1/me`)).status).toBe(401);
  expect(told(await signIn())).toMatchObject(suspended);
  await ours.scim('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'active', value: true }));
  // A session that was ended stays so.
  expect((await browser.step(`${world.url}/v1/me`)).status).toBe(401);
  expect((await signIn(browser)).status).toBe(200);
  await ours.scim('DELETE', `/Users/${id}`);
  expect(told(await signIn())).toMatchObject(suspended);
});

test('where the provider says nothing of groups, those of its directory count; where it does, they do', async () => {
  await ours.scim('POST', '/Groups', { displayName: 'admins', members: [{ value: id }] });
  const { id: member, role, revision } = await memberOf(ours.owner, email);
  expect(role).toBe('admin');
  await ours.owner.call('PATCH', `/v1/organization/members/${member}`, { expected: revision, role: 'viewer' });
  await signIn();
  expect((await memberOf(ours.owner, email)).role).toBe('admin');
  world.idp.person = { ...world.idp.person, groups: [] };
  await signIn();
  expect((await memberOf(ours.owner, email)).role).toBe('member');
});
