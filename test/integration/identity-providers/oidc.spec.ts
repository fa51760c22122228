import type { Caller } from '@test/support/app.js';
import { clientSecret, type Twist } from '@test/support/scripted-identity-provider.js';
import { eventually } from '@test/support/eventually.js';
import { WalkingBrowser } from '@test/support/walking-browser.js';
import { openWorld, signInBy, told, whoIs, type Connected, type World } from './world.js';

let world: World;
let owner: Caller;
let provider: Connected;
const person = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada Example' } as const;

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  world.idp.person = person;
  world.idp.twist = {};
  owner = await world.app.createTenant();
  provider = await world.connect(owner);
});
afterAll(() => world.close());

/** The details of this many entries, once they are linked. */
const entries = (action: string, count: number): Promise<object[]> =>
  eventually(
    async () => {
      const { body } = await owner.call('GET', `/v1/organization/audit?action=${action}`);
      return (body['items'] as { detail: object }[]).map(({ detail }) => detail);
    },
    (found) => found.length >= count,
  );

test('302: somebody with an address of the organization becomes a member, is signed in, and comes where they wanted', async () => {
  const browser = new WalkingBrowser();
  const page = await signInBy(browser, provider, '?returnTo=/auth/signed-in%23here');
  expect({ status: page.status, path: new URL(page.url).pathname }).toEqual({ status: 200, path: '/auth/signed-in' });
  expect(await whoIs(world, browser)).toMatchObject({ email: 'ada@example.com', name: 'Ada Example', role: 'member', token: expect.stringMatching(/^ses_/) as string });
  const again = new WalkingBrowser();
  await signInBy(again, provider);
  expect((await whoIs(world, again))['id']).toBe((await whoIs(world, browser))['id']);
});

test('the audit log tells who was let in, by whom and how', async () => {
  await signInBy(new WalkingBrowser(), provider);
  expect(await entries('member.created', 2)).toContainEqual({ kind: 'person', role: 'member' });
  expect(await entries('identity.linked', 1)).toEqual([{ provider: provider.id }]);
  expect(await entries('session.started', 1)).toContainEqual({ method: 'oidc' });
});

test.each<[what: string, twist: Twist, status: number, title: RegExp]>([
  ['an ID token without a signature', { signature: 'none' }, 400, /does not count/],
  ['one that somebody else signed', { signature: 'of-another' }, 400, /does not count/],
  ['one for another client', { claims: (claims) => ({ ...claims, aud: 'another' }) }, 400, /does not count/],
  ['one of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://evil.example' }) }, 400, /does not count/],
  ['one for another sign-in', { claims: (claims) => ({ ...claims, nonce: 'another' }) }, 400, /does not count/],
  ['one that names nobody', { claims: ({ sub, ...claims }) => claims }, 400, /does not count/],
  ['one that ended ten minutes ago', { claims: (claims) => ({ ...claims, exp: claims.iat! - 600, iat: claims.iat! - 900 }) }, 400, /does not count/],
  ['a clock an hour ahead', { claims: (claims) => ({ ...claims, iat: claims.iat! + 3_600, nbf: claims.iat! + 3_600 }) }, 400, /does not count/],
  ['a person who said no', { authorizeError: 'access_denied' }, 403, /did not let you in/],
  ['a provider that does not know us', { authorizeError: 'unauthorized_client' }, 502, /refused us/],
  ['a code that it does not take', { tokenError: 'invalid_grant' }, 502, /refused us/],
])('%s signs nobody in, and the page says so with an error id', async (_what, twist, status, title) => {
  world.idp.twist = twist;
  const browser = new WalkingBrowser();
  const page = await signInBy(browser, provider);
  expect(told(page)).toEqual({ status, title: expect.stringMatching(title) as string, errorId: expect.any(String) as string });
  expect(page.headers.get('openbot-error-id')).toBe(told(page).errorId);
  expect(browser.cookie('__Host-openbot_session')).toBeUndefined();
  expect(await entries('sign_in.failed', 1)).toHaveLength(1);
  // The failure burned nothing: the same browser signs in by the same way.
  world.idp.twist = {};
  expect((await signInBy(browser, provider)).status).toBe(200);
});

test.each([-240_000, 240_000])('clocks that are apart by %d ms let people in', async (clockMs) => {
  world.idp.twist = { clockMs };
  const browser = new WalkingBrowser();
  await signInBy(browser, provider);
  expect((await whoIs(world, browser))['email']).toBe('ada@example.com');
});

test('a provider that is down is named as what it is, before and behind the way to it', async () => {
  const browser = new WalkingBrowser();
  const begun = await browser.step(provider.signInUrl);
  const back = await browser.step(begun.headers.get('location')!);
  world.idp.twist = { down: true };
  expect(told(await browser.go(back.headers.get('location')!))).toMatchObject({ status: 502, title: expect.stringMatching(/does not answer/) as string });
  const other = await world.connect(owner, {}, []);
  expect(told(await browser.go(other.signInUrl))).toMatchObject({ status: 502, title: expect.stringMatching(/does not answer/) as string });
});

test('a provider with new keys is believed at once', async () => {
  await signInBy(new WalkingBrowser(), provider);
  await world.idp.rotate();
  const browser = new WalkingBrowser();
  await signInBy(browser, provider);
  expect((await whoIs(world, browser))['email']).toBe('ada@example.com');
});

test('an answer counts once, in the browser that began it, and in its time', async () => {
  const browser = new WalkingBrowser();
  const begun = await browser.step(provider.signInUrl);
  const back = (await browser.step(begun.headers.get('location')!)).headers.get('location')!;
  expect(told(await new WalkingBrowser().go(back))).toMatchObject({ status: 400, title: expect.stringMatching(/no cookie/) as string });
  expect((await browser.go(back)).status).toBe(200);
  expect(told(await browser.go(back))).toMatchObject({ status: 400, title: expect.stringMatching(/used already/) as string });
});

test('a browser that keeps no cookies is told so at the first way back', async () => {
  expect(told(await signInBy(new WalkingBrowser(true), provider))).toMatchObject({ status: 400, title: expect.stringMatching(/no cookie/) as string });
});

test('a state of nobody is refused', async () => {
  for (const state of ['', 'nonsense', `oba_${'A'.repeat(59)}`]) {
    world.idp.twist = { state };
    expect(told(await signInBy(new WalkingBrowser(), provider))).toMatchObject({ status: 400, title: expect.stringMatching(/Nobody began/) as string });
  }
});

test('who is sent to sign in a third time within two minutes goes in circles, and is told so, and can go on', async () => {
  const browser = new WalkingBrowser();
  for (const _ of [1, 2]) expect((await signInBy(browser, provider)).status).toBe(200);
  const page = await signInBy(browser, provider);
  expect(told(page)).toMatchObject({ status: 409, title: expect.stringMatching(/circles/) as string });
  const again = /href="([^"]*again=1)"/.exec(page.text)![1]!.replaceAll('&amp;', '&');
  expect((await browser.go(new URL(again, page.url).href)).status).toBe(200);
});

describe('whom a provider vouches for', () => {
  const refusal = async (): Promise<ReturnType<typeof told>> => told(await signInBy(new WalkingBrowser(), provider));

  test('an address of a domain that is not verified lets nobody in, also not a member with that address', async () => {
    const member = await owner.call('PATCH', `/v1/organization/members/${owner.memberId}`, { expected: 1, name: 'Olivia' });
    expect(member.status).toBe(200);
    world.idp.person = { ...person, sub: 'eve', email: 'olivia@elsewhere.example' };
    expect(await refusal()).toMatchObject({ status: 403, title: expect.stringMatching(/another organization/) as string });
  });

  test('a member with a verified address is linked once; a second subject with it is refused', async () => {
    world.idp.person = { ...person, sub: 'olivia', email: 'OLIVIA@example.com' };
    const browser = new WalkingBrowser();
    await signInBy(browser, provider);
    expect(await whoIs(world, browser)).toMatchObject({ id: owner.memberId, role: 'owner' });
    world.idp.person = { ...person, sub: 'successor', email: 'olivia@example.com' };
    expect(await refusal()).toMatchObject({ status: 403, title: expect.stringMatching(/Somebody else/) as string });
  });

  test('an address that the provider calls unverified counts for nothing', async () => {
    world.idp.person = { ...person, email_verified: false };
    expect(await refusal()).toMatchObject({ status: 403, title: expect.stringMatching(/not verified/) as string });
  });

  test('a suspended member is not let in, and a removed one by nobody but people', async () => {
    await signInBy(new WalkingBrowser(), provider);
    const { body } = await owner.call('GET', '/v1/organization/members');
    const ada = (body['items'] as { id: string; email: string; revision: number }[]).find(({ email }) => email === 'ada@example.com')!;
    await owner.call('PATCH', `/v1/organization/members/${ada.id}`, { expected: ada.revision, suspended: true });
    expect(await refusal()).toMatchObject({ status: 403, title: expect.stringMatching(/suspended/) as string });
    expect((await owner.call('DELETE', `/v1/organization/members/${ada.id}?expected=${ada.revision + 1}`)).status).toBe(204);
    expect(await refusal()).toMatchObject({ status: 403, title: expect.stringMatching(/not a member/) as string });
  });

  test('groups say at every sign-in what somebody is, and sessions of before end', async () => {
    const mapped = await world.connect(owner, { defaultRole: 'viewer', groupRoles: [{ group: 'it', role: 'admin' }] }, []);
    await world.verify(owner, mapped.id, 'groups.example');
    world.idp.person = { ...person, sub: 'grace', email: 'grace@groups.example', groups: ['it'] };
    const before = new WalkingBrowser();
    await signInBy(before, mapped);
    expect((await whoIs(world, before))['role']).toBe('admin');
    world.idp.person = { ...world.idp.person, groups: [] };
    const after = new WalkingBrowser();
    await signInBy(after, mapped);
    expect((await whoIs(world, after))['role']).toBe('viewer');
    expect((await before.step(`${world.url}/v1/me`)).status).toBe(401);
    expect(await entries('member.role_changed', 1)).toEqual([{ role: 'viewer', before: 'admin' }]);
  });

  test('two sign-ins of somebody new at once make one member', async () => {
    const pages = await Promise.all([1, 2, 3].map(() => signInBy(new WalkingBrowser(), provider)));
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { body } = await owner.call('GET', '/v1/organization/members');
    expect((body['items'] as { email: string }[]).filter(({ email }) => email === 'ada@example.com')).toHaveLength(1);
  });
});

test('two organizations with one domain, one address and a provider each: nobody is mixed up', async () => {
  const other = await world.app.createTenant();
  const theirs = await world.connect(other);
  for (const [of, { id }] of [[owner, provider], [other, theirs]] as const) await world.verify(of, id, 'shared.example'); // prettier-ignore
  world.idp.person = { ...person, email: 'ada@shared.example' };
  const options = await world.app.as(null)('POST', '/auth/sign-in/options', { email: 'ada@shared.example' });
  const choices = options.body['providers'] as { organization: string; id: string; url: string }[];
  expect(choices.map(({ id }) => id)).toEqual([provider.id, theirs.id]);
  const [mine, their] = [new WalkingBrowser(), new WalkingBrowser()];
  await signInBy(mine, provider);
  await signInBy(their, theirs);
  const [me, them] = [await whoIs(world, mine), await whoIs(world, their)];
  expect(me['id']).not.toBe(them['id']);
  // An answer for one is none for the other, whoever brings it.
  const begun = await mine.step(provider.signInUrl);
  const back = new URL((await mine.step(begun.headers.get('location')!)).headers.get('location')!);
  back.pathname = new URL(theirs.signInUrl).pathname.replace('/auth/sign-in/', '/auth/oidc/') + '/callback';
  expect(told(await mine.go(back.href))).toMatchObject({ status: 400, title: expect.stringMatching(/Nobody began/) as string });
});

describe('signing out', () => {
  test('here leads to the provider’s own end', async () => {
    const browser = new WalkingBrowser();
    await signInBy(browser, provider);
    const { csrf } = JSON.parse((await browser.step(`${world.url}/auth/session`)).text) as { csrf: string };
    const left = await browser.step(`${world.url}/auth/logout`, { method: 'POST', headers: { 'openbot-csrf': csrf } });
    const url = new URL((JSON.parse(left.text) as { providerLogout: string }).providerLogout);
    expect({ at: url.origin + url.pathname, back: new URL(url.searchParams.get('post_logout_redirect_uri')!).pathname }).toEqual({
      at: `${world.idp.url}/end`,
      back: '/auth/signed-out',
    });
    expect(url.searchParams.get('id_token_hint')).toMatch(/^ey/);
    expect((await browser.step(`${world.url}/v1/me`)).status).toBe(401);
  });

  const tell = (token: string, fields: [string, string][] = [['logout_token', token]]) =>
    fetch(`${provider.signInUrl.replace('/auth/sign-in/', '/auth/oidc/')}/back-channel-logout`, { method: 'POST', body: new URLSearchParams(fields) });
  const inside = async (browser: WalkingBrowser): Promise<number> => (await browser.step(`${world.url}/v1/me`)).status;

  test('there ends the one session that is named, or all of a person', async () => {
    const browsers = [new WalkingBrowser(), new WalkingBrowser(), new WalkingBrowser()] as const;
    for (const [index, browser] of browsers.entries()) {
      world.idp.person = { ...person, sid: `sid-${index}` };
      await signInBy(browser, provider);
    }
    expect((await tell(await world.idp.logoutToken({}, { ...person, sid: 'sid-0' }))).status).toBe(204);
    expect(await Promise.all(browsers.map(inside))).toEqual([401, 200, 200]);
    expect((await tell(await world.idp.logoutToken({}, person))).status).toBe(204);
    expect(await Promise.all(browsers.map(inside))).toEqual([401, 401, 401]);
    expect((await entries('session.revoked', 3)).map((detail) => (detail as { reason: string }).reason)).toEqual(['provider', 'provider', 'provider']);
  });

  test('what is no logout token of the provider for us ends nothing', async () => {
    const browser = new WalkingBrowser();
    await signInBy(browser, provider);
    const at = Math.floor(Date.now() / 1_000);
    const tokens = [
      await world.idp.logoutToken({ aud: 'another' }),
      await world.idp.logoutToken({ iss: 'https://evil.example' }),
      await world.idp.logoutToken({ events: {} }),
      await world.idp.logoutToken({ nonce: 'n' }),
      await world.idp.logoutToken({ iat: at - 3_600 }),
      await world.idp.logoutToken({}, { sub: '' }),
      'nonsense',
    ];
    world.idp.twist = { signature: 'of-another' };
    tokens.push(await world.idp.logoutToken());
    world.idp.twist = { signature: 'none' };
    tokens.push(await world.idp.logoutToken());
    for (const token of tokens) expect((await tell(token)).status).toBe(400);
    const good = await world.idp.logoutToken();
    expect((await tell('', [['logout_token', good], ['logout_token', good]])).status).toBe(400); // prettier-ignore
    expect(await inside(browser)).toBe(200);
  });
});

describe('a provider is asked again while a session lasts', () => {
  const due = async (): Promise<void> => {
    await world.outside.query(`update provider_session set ask_at = clock_timestamp()`);
  };

  test('and ends it', async () => {
    const browser = new WalkingBrowser();
    await signInBy(browser, provider);
    world.idp.twist = { refreshError: 'invalid_grant' };
    await due();
    await eventually(async () => (await browser.step(`${world.url}/v1/me`)).status === 401, Boolean, 30_000);
    expect(await entries('session.revoked', 1)).toMatchObject([{ reason: 'provider' }]);
  });
});

test('a secret is in no answer, and is asked for anew with another issuer', async () => {
  const listed = await owner.call('GET', '/v1/organization/identity-providers');
  expect(listed.text).not.toContain(clientSecret);
  expect((listed.body['items'] as object[])[0]).toMatchObject({ hasClientSecret: true, revision: 1, defaultRole: 'member', scopes: ['openid', 'email', 'profile'] });
  const path = `/v1/organization/identity-providers/${provider.id}`;
  expect(await owner.call('PATCH', path, { expected: 1, issuer: `${world.idp.url}/other` })).toMatchObject({
    status: 400,
    body: { _tag: 'IdentityProviderInvalid', field: 'clientSecret' },
  });
  expect((await owner.call('PATCH', path, { expected: 1, enabled: false })).status).toBe(200);
  expect(await owner.call('PATCH', path, { expected: 1, enabled: true })).toMatchObject({ status: 409, body: { _tag: 'IdentityProviderConflict', revision: 2 } });
  expect(told(await signInBy(new WalkingBrowser(), provider))).toMatchObject({ status: 404 });
});
