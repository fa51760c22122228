import type { Caller } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { WalkingBrowser } from '@test/support/walking-browser.js';
import { openWorld, signInBy, told, type Connected, type World } from './world.js';

let world: World;
let owner: Caller;
let provider: Connected;

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  world.dns.records.clear();
  world.dns.silent = false;
  owner = await world.app.createTenant();
  provider = await world.connect(owner, {}, []);
});
afterAll(() => world.close());

const claim = (domain: string, by = owner) => by.call('POST', '/v1/organization/domains', { domain, identityProvider: provider.id });
const verify = (id: unknown) => owner.call('POST', `/v1/organization/domains/${id as string}/verify`);
const answer = async (): Promise<number> => told(await signInBy(new WalkingBrowser(), provider)).status;

test('a domain counts once its DNS says whose it is, and no more once it was given up', async () => {
  const { body, status } = await claim('Example.COM.');
  expect({ status, body }).toMatchObject({ status: 201, body: { domain: 'example.com', verifiedAt: null, record: { name: '_openbot.example.com' } } });
  const { name, value } = body['record'] as { name: string; value: string };
  expect(await verify(body['id'])).toMatchObject({ status: 409, body: { _tag: 'DomainUnproven', name, value, found: 0 } });
  world.dns.records.set(name, ['v=spf1 -all', `${value}x`]);
  expect(await verify(body['id'])).toMatchObject({ status: 409, body: { _tag: 'DomainUnproven', found: 2 } });
  expect(await answer()).toBe(403);

  world.dns.records.set(name, ['v=spf1 -all', value]);
  expect(await verify(body['id'])).toMatchObject({ status: 200, body: { verifiedAt: expect.any(Number) as number } });
  expect(await answer()).toBe(200);

  expect((await owner.call('DELETE', `/v1/organization/domains/${body['id'] as string}`)).status).toBe(204);
  world.idp.person = { sub: 'newcomer', email: 'newcomer@example.com', email_verified: true };
  expect(await answer()).toBe(403);
  const actions = await eventually(
    async () => (await owner.call('GET', '/v1/organization/audit?action=domain')).body['items'] as { action: string }[],
    (found) => found.length === 3,
  );
  expect(actions.map(({ action }) => action).toSorted()).toEqual(['domain.claimed', 'domain.released', 'domain.verified']);
});

test('503: DNS that does not answer is no proof against anybody, and can be asked again', async () => {
  const { body } = await claim('example.com');
  world.dns.silent = true;
  expect(await verify(body['id'])).toMatchObject({ status: 503, body: { _tag: 'DomainUnreachable', retryAfterMs: 10_000 } });
});

test('the proof of one organization is none of another', async () => {
  const mine = await claim('example.com');
  const other = await world.app.createTenant();
  const { id } = await world.connect(other, {}, []);
  const theirs = await other.call('POST', '/v1/organization/domains', { domain: 'example.com', identityProvider: id });
  const [my, their] = [mine, theirs].map(({ body }) => body['record'] as { name: string; value: string });
  expect(my!.value).not.toBe(their!.value);
  world.dns.records.set(my!.name, [my!.value]);
  expect((await other.call('POST', `/v1/organization/domains/${theirs.body['id'] as string}/verify`)).status).toBe(409);
});

test.each(['com', '127.0.0.1', 'a b.example', 'ada@example.com', 'https://example.com'])('400: %s is no domain', async (domain) => {
  expect(await claim(domain)).toMatchObject({ status: 400, body: { _tag: 'DomainInvalid', field: 'domain' } });
});

test('409: a domain is claimed once in an organization', async () => {
  await claim('example.com');
  expect(await claim('EXAMPLE.com')).toMatchObject({ status: 409, body: { _tag: 'DomainClaimed', field: 'domain' } });
});

test('403: an administrator sees domains and providers, and owners alone change them', async () => {
  const admin = await world.app.createMember(owner, 'admin');
  expect((await admin.call('GET', '/v1/organization/identity-providers')).status).toBe(200);
  expect(await claim('example.com', admin)).toMatchObject({ status: 403, body: { _tag: 'Forbidden', permission: 'sso.manage' } });
  expect((await admin.call('DELETE', `/v1/organization/identity-providers/${provider.id}`)).status).toBe(403);
  const member = await world.app.createMember(owner);
  expect((await member.call('GET', '/v1/organization/domains')).status).toBe(403);
});
