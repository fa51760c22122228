import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import type { Answer, Caller } from '@test/support/app.js';
import { Browser, goodPassword, setupLink, signedIn } from '@test/support/browser.js';
import { inOrder } from '@test/support/held-lock.js';
import { WalkingBrowser } from '@test/support/walking-browser.js';
import { openWorld, signInBy, type World } from '../identity-providers/world.js';

let world: World;
let owner: Caller;
beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  owner = await world.app.createTenant();
  await world.outside.query('delete from rate_bucket');
});
afterAll(() => world?.close());

/** Somebody's way in, which they may take again and again: answers the status of `GET /v1/me` and the role as their browser sees them, or why they did not come in. */
type Seen = { readonly status: number; readonly role?: unknown };
type Way = { readonly memberId: string; readonly come: () => Promise<() => Promise<Seen>> };

const email = 'second@example.com';
const refused = (status: number) => (): Promise<Seen> => Promise.resolve({ status });

async function byPassword(): Promise<Way> {
  const second = await world.app.createMember(owner, 'owner', email);
  await signedIn(world.app, second);
  return { memberId: second.memberId, come: () => comeBy('/auth/login', { organization: toPublicId('organization', owner.organizationId), email, password: goodPassword }) };
}

async function byLink(): Promise<Way> {
  const second = await world.app.createMember(owner, 'owner', email);
  const token = await setupLink(world.app, second);
  return { memberId: second.memberId, come: () => comeBy('/auth/setup', { token, password: goodPassword }) };
}

async function comeBy(path: string, body: object): Promise<() => Promise<Seen>> {
  const browser = new Browser(world.app.url);
  const { status } = await browser.ask('POST', path, { body });
  return status === 200 ? async () => seen(await browser.ask('GET', '/v1/me')) : refused(status);
}

async function byProvider(): Promise<Way> {
  world.idp.person = { sub: 'second', email, email_verified: true, name: 'Second' };
  const provider = await world.connect(owner, { defaultRole: 'admin' });
  const come = async () => {
    const browser = new WalkingBrowser();
    const page = await signInBy(browser, provider);
    return page.status === 200 ? async () => seen(await browser.step(`${world.url}/v1/me`)) : refused(page.status);
  };
  await come();
  const { rows } = await world.outside.query<{ id: string }>('select id from member where organization_id = $1 and email = $2', [owner.organizationId, email]);
  return { memberId: toPublicId('member', rows[0]!.id), come };
}

const seen = ({ status, text }: { readonly status: number; readonly text: string }): Seen => ({
  status,
  ...(status === 200 ? { role: (JSON.parse(text) as { role: unknown }).role } : {}),
});

const members = '/v1/organization/members';
const revision = async (memberId: string): Promise<unknown> => (await owner.call('GET', `${members}/${memberId}`)).body['revision'];
async function change(memberId: string, to: object): Promise<Answer> {
  const answer = await owner.call('PATCH', `${members}/${memberId}`, { expected: await revision(memberId), ...to });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer;
}
async function remove(memberId: string): Promise<Answer> {
  const answer = await owner.call('DELETE', `${members}/${memberId}?expected=${String(await revision(memberId))}`);
  if (answer.status !== 204) throw new Error(answer.text);
  return answer;
}
const organization = () => ({ sql: 'select from organization where id = $1 for no key update', values: [owner.organizationId] });

describe.each([
  ['a password', byPassword],
  ['a setup link', byLink],
  ['an identity provider', byProvider],
])('a sign-in by %s', (_, open) => {
  test('before a suspension that overlaps it: the session is over, and is not there again when the member is', async () => {
    const { memberId, come } = await open();
    const [look] = await inOrder(world.outside, organization(), come, () => change(memberId, { suspended: true }));
    expect((await look()).status).toBe(401);
    await change(memberId, { suspended: false });
    expect((await look()).status).toBe(401);
  });

  test('after one: refused, and no session is there when the member is let in again', async () => {
    const { memberId, come } = await open();
    const [, look] = await inOrder(world.outside, organization(), () => change(memberId, { suspended: true }), come);
    expect([401, 403, 404]).toContain((await look()).status);
    await change(memberId, { suspended: false });
    const { rows } = await world.outside.query(`select 1 from credential where kind = 'session' and revoked_at is null and member_id = $1`, [fromPublicId('member', memberId)]);
    expect(rows).toEqual([]);
  });

  test.each([
    ['before', true],
    ['after', false],
  ])('%s a removal: no session is left', async (_when, isFirst) => {
    const { memberId, come } = await open();
    const leave = (): Promise<Answer> => remove(memberId);
    const look = isFirst ? (await inOrder(world.outside, organization(), come, leave))[0] : (await inOrder(world.outside, organization(), leave, come))[1];
    expect([401, 403, 404]).toContain((await look()).status);
    const { rows } = await world.outside.query(`select 1 from credential where revoked_at is null and member_id = $1`, [fromPublicId('member', memberId)]);
    expect(rows).toEqual([]);
  });

  test('before a change of the role: the session is over', async () => {
    const { memberId, come } = await open();
    const [look] = await inOrder(world.outside, organization(), come, () => change(memberId, { role: 'viewer' }));
    expect((await look()).status).toBe(401);
  });

  test('after a change of the role: it has the new one', async () => {
    const { memberId, come } = await open();
    const [, look] = await inOrder(world.outside, organization(), () => change(memberId, { role: 'viewer' }), come);
    expect(await look()).toEqual({ status: 200, role: 'viewer' });
  });
});
