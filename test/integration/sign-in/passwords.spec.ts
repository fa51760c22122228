import { QueryBus } from '@nestjs/cqrs';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { argon2id, isWeaker, nobodysHash, PasswordHasher } from '@contexts/accounts/password-hasher.js';
import { CameFromQuery } from '@contexts/sign-in/public/came-from.query.js';
import { read } from '@platform/database/transact.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { hash } from '@node-rs/argon2';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { Browser, goodPassword, setupLink, signedIn, type PageAnswer } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let owner: Caller;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api', OPENBOT_TRUSTED_PROXIES: '127.0.0.0/8' });
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

const organization = (of = owner): string => toPublicId('organization', of.organizationId);
const signIn = (given: object = {}, headers: Record<string, string> = {}): Promise<PageAnswer> =>
  new Browser(app.url).ask('POST', '/auth/login', { body: { organization: organization(), email: 'olivia@example.com', password: goodPassword, ...given }, headers });
const setUp = (token: string, more: object = {}, into = new Browser(app.url)): Promise<PageAnswer> =>
  into.ask('POST', '/auth/setup', { body: { token, password: goodPassword, ...more } });
const accountOf = async (of: Caller) =>
  (await outside.query(`select * from account where member_id = $1`, [fromPublicId('member', of.memberId)])).rows[0] as Record<string, unknown> | undefined;
const statuses = (answers: readonly { status: number }[]): number[] => answers.map(({ status }) => status).sort();

describe('a setup link', () => {
  test('200: it sets a password and a name, begins a session, and counts no more', async () => {
    const [token, browser] = [await setupLink(app, owner), new Browser(app.url)];
    expect(await setUp(token, { name: 'Olive' }, browser)).toMatchObject({ status: 200, body: { member: owner.memberId, organization: organization() } });
    expect((await browser.ask('GET', '/v1/me')).body).toMatchObject({ name: 'Olive' });
    expect(await setUp(token)).toMatchObject({ status: 404, body: { _tag: 'LinkNotFound' } });
    expect((await signIn()).status).toBe(200);
    expect(await accountOf(owner)).toMatchObject({ break_glass: true, link_hash: null, password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) as string });
  });

  test('the audit log tells who made it, and who used it', async () => {
    await setUp(await setupLink(app, owner), { name: 'Olive' });
    await setUp(await setupLink(app, owner), { name: 'Olive' });
    const { rows } = await outside.query(
      `select action, actor_kind as by from audit_inbox where organization_id = $1 and action <> all ('{organization.created,project.created,member.created,token.created}') order by id`,
      [owner.organizationId],
    );
    expect(rows).toEqual([
      { action: 'setup.link_created', by: 'operator' },
      { action: 'setup.completed', by: 'member' },
      { action: 'password.set', by: 'member' },
      { action: 'member.renamed', by: 'member' },
      { action: 'session.started', by: 'member' },
      // The name that somebody has already is no news.
      { action: 'setup.link_created', by: 'operator' },
      { action: 'setup.completed', by: 'member' },
      { action: 'password.set', by: 'member' },
      { action: 'session.revoked', by: 'member' },
      { action: 'session.started', by: 'member' },
    ]);
  });

  test('of two uses at once one counts', async () => {
    const token = await setupLink(app, owner);
    const answers = await Promise.all(['one password for it', 'two passwords for it'].map((password) => setUp(token, { password })));
    expect(statuses(answers)).toEqual([200, 404]);
    const { rows } = await outside.query(`select 1 from credential where organization_id = $1 and kind = 'session'`, [owner.organizationId]);
    expect(rows).toHaveLength(1);
  });

  test('404: one that has expired, was replaced, belongs to nobody who may act, or is none, is one answer, and sets nothing', async () => {
    const replaced = await setupLink(app, owner);
    const token = await setupLink(app, owner);
    const answers = [await setUp(replaced), await setUp('obl_x'), await setUp(owner.token), await setUp(token.replace('obl_', 'obi_'))];
    await outside.query(`update member set suspended_at = clock_timestamp() where organization_id = $1`, [owner.organizationId]);
    answers.push(await setUp(token));
    await outside.query(`update member set suspended_at = null where organization_id = $1`, [owner.organizationId]);
    await outside.query(`update account set link_until = clock_timestamp() where organization_id = $1`, [owner.organizationId]);
    answers.push(await setUp(token));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 404, body: { _tag: 'LinkNotFound' } });
    expect(await accountOf(owner)).toMatchObject({ password_hash: null });
  });

  test('400: a password that nobody should have is refused, and the link stays', async () => {
    const token = await setupLink(app, owner);
    for (const [password, reason] of [
      ['Password1234', 'common'],
      ['olivia@example.com', 'your-name'],
    ] as const)
      expect(await setUp(token, { password })).toMatchObject({ status: 400, body: { _tag: 'PasswordRefused', field: 'password', reason } });
    expect(await setUp(token, { password: 'short' })).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field: 'password' } });
    expect((await setUp(token)).status).toBe(200);
  });

  test('sessions from before end with a new password', async () => {
    const browser = await signedIn(app, owner);
    expect((await setUp(await setupLink(app, owner), { password: 'another good one' })).status).toBe(200);
    expect((await browser.ask('GET', '/v1/me')).status).toBe(401);
  });
});

const refusals = async (): Promise<{ action: string; target: string | null; by: string; outcome: string }[]> =>
  (
    await outside.query<{ action: string; target: string | null; by: string; outcome: string }>(
      `select action, target_id as target, actor_kind as by, outcome from audit_inbox where organization_id = $1 and action like 'sign_in.%' order by id`,
      [owner.organizationId],
    )
  ).rows;

describe('signing in', () => {
  beforeEach(async () => void (await signedIn(app, owner)));

  test('401: a wrong password, an unknown address or organization, no password, no leave, and a suspended member are one answer', async () => {
    const stranger = await app.createTenant();
    const answers = [
      await signIn({ password: 'seven tall giraffe' }),
      await signIn({ email: 'nobody@example.com' }),
      await signIn({ organization: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }),
      // The same address, with no password of its own.
      await signIn({ organization: organization(stranger) }),
    ];
    await outside.query(`update member set suspended_at = clock_timestamp() where organization_id = $1`, [owner.organizationId]);
    answers.push(await signIn());
    await outside.query(`update member set suspended_at = null where organization_id = $1`, [owner.organizationId]);
    await outside.query(`update account set break_glass = false, password_hash = null, password_set_at = null where organization_id = $1`, [owner.organizationId]);
    answers.push(await signIn());
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, body: { _tag: 'SignInRefused' } });
    for (const { headers } of answers) expect(headers.get('set-cookie')).toBeNull();
  });

  test('503: where as many passwords are computed as may be, somebody and nobody are told alike to come again: both need the same work', async () => {
    const hasher = app.nest.get(PasswordHasher, { strict: false });
    let over = false;
    const busy = Array.from({ length: 34 }, async () => {
      while (!over) await hasher.verify(null, 'x');
    });
    const answers = [await signIn({ email: 'nobody@example.com' }), await signIn()];
    over = true;
    await Promise.all(busy);
    expect(answers[0]).toMatchObject({ status: 503, body: { _tag: 'SignInBusy', retryAfterMs: 2_000 } });
    expect(answers[1]!.text).toBe(answers[0]!.text);
    expect(answers[0]!.headers.get('retry-after')).toBe('2');
    expect((await signIn()).status).toBe(200);
  });

  test('where there is no password, one of the same parameters is computed', async () => {
    const hasher = app.nest.get(PasswordHasher, { strict: false });
    expect(isWeaker(nobodysHash)).toBe(false);
    expect(nobodysHash).toContain(`m=${argon2id.memoryCost},t=${argon2id.timeCost},p=${argon2id.parallelism}$`);
    expect(await hasher.verify(null, goodPassword)).toEqual({ ok: true, value: false });
    const all = await Promise.all(Array.from({ length: 40 }, () => hasher.verify(null, 'x')));
    expect(all.filter((result) => result.ok)).toHaveLength(34);
  });

  test('400: where there is more than one organization, somebody has to say which', async () => {
    await app.createTenant();
    expect(await signIn({ organization: undefined })).toMatchObject({ status: 400, body: { _tag: 'OrganizationMissing', field: 'organization' } });
  });

  test('another spelling of the password, and of the address, is the same', async () => {
    await setUp(await setupLink(app, owner), { password: 'Zürich im Frühling' });
    expect((await signIn({ email: 'OLIVIA@example.com', password: 'Zürich im Frühling'.normalize('NFD') })).status).toBe(200);
  });

  test('a hash of weaker parameters is made anew, and the next sign-in finds it', async () => {
    const weak = await hash(goodPassword, { ...argon2id, memoryCost: 8_192 });
    await outside.query(`update account set password_hash = $2 where organization_id = $1`, [owner.organizationId, weak]);
    expect((await signIn()).status).toBe(200);
    expect(await accountOf(owner)).toMatchObject({ password_hash: expect.stringContaining('m=19456') as string });
    expect((await signIn()).status).toBe(200);
  });

  test('the audit log tells of each refused attempt, of somebody and of nobody, and once that too many were put off', async () => {
    const before = await refusals();
    await signIn({ password: 'not this one, or is it' });
    await signIn({ email: 'nobody@example.com' });
    await signIn({ organization: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' });
    expect((await refusals()).slice(before.length)).toEqual([
      { action: 'sign_in.failed', target: fromPublicId('member', owner.memberId), by: 'nobody', outcome: 'refused' },
      { action: 'sign_in.failed', target: null, by: 'nobody', outcome: 'refused' },
    ]);
    await Promise.all(Array.from({ length: 16 }, () => signIn({ password: 'not this one, or is it' })));
    expect((await refusals()).filter(({ action }) => action === 'sign_in.locked')).toHaveLength(1);
  });

  test('429: who tries too often from one place waits, and is told how long; from another they go on', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => signIn({ password: 'not this one, or is it' })));
    expect(new Set(statuses(answers))).toEqual(new Set([401, 429]));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(3);
    expect(limited[0]!.body).toMatchObject({ _tag: 'SignInLimited', retryAfterMs: expect.any(Number) as number });
    expect(Number(limited[0]!.headers.get('retry-after'))).toBe(Math.ceil((limited[0]!.body['retryAfterMs'] as number) / 1000));
    // The right one does not come through either.
    expect((await signIn()).status).toBe(429);
    // Another account from the same place is not bound by it.
    const other = await app.createTenant();
    await signedIn(app, other);
    expect((await signIn({ organization: organization(other) })).status).toBe(200);
  });
});

test('where somebody has come from is told as limits count it: 64 bits of an IPv6 address, all of an IPv4 one', async () => {
  const [token, queries] = [await setupLink(app, owner), app.nest.get(QueryBus, { strict: false })];
  const cameFrom = (address: string) =>
    read(app.nest.get(DataSource), { organizationId: owner.organizationId, projectId: null }, (tx) =>
      queries.execute(new CameFromQuery(fromPublicId('member', owner.memberId)!, address, tx)),
    );
  const begin = (address: string, of: string) =>
    new Browser(app.url).ask('POST', '/auth/setup', { body: { token: of, password: goodPassword }, headers: { 'x-forwarded-for': address } });
  await begin('2001:db8:0:1::7', token);
  await begin('203.0.113.9', await setupLink(app, owner));
  const addresses = ['2001:db8:0:1::7', '2001:db8:0:1:ffff::1', '2001:db8:0:2::7', '203.0.113.9', '::ffff:203.0.113.9', '203.0.113.10'];
  expect(await Promise.all(addresses.map(cameFrom))).toEqual([true, true, false, true, true, false]);
});

describe('a new password', () => {
  const change = (of: Browser, body: object = {}): Promise<PageAnswer> => of.ask('PUT', '/v1/me/password', { body: { current: goodPassword, new: 'another good one', ...body } });

  test('204: it takes the place of the one before, and all other sessions end', async () => {
    const browser = await signedIn(app, owner);
    const other = new Browser(app.url);
    await other.ask('POST', '/auth/login', { body: { organization: organization(), email: 'olivia@example.com', password: goodPassword } });
    expect((await change(browser)).status).toBe(204);
    expect([(await browser.ask('GET', '/v1/me')).status, (await other.ask('GET', '/v1/me')).status]).toEqual([200, 401]);
    expect([(await signIn()).status, (await signIn({ password: 'another good one' })).status]).toEqual([401, 200]);
  });

  test('of two changes at once one is made', async () => {
    const browser = await signedIn(app, owner);
    expect(statuses(await Promise.all(['first new password', 'second new password'].map((password) => change(browser, { new: password }))))).toEqual([204, 403]);
  });

  test('403, 400, 409: with a wrong one before, a bad one, or where there is none, nothing changes', async () => {
    const browser = await signedIn(app, owner);
    const before = await accountOf(owner);
    expect(await change(browser, { current: 'not this one' })).toMatchObject({ status: 403, body: { _tag: 'PasswordWrong', field: 'current' } });
    expect(await change(browser, { new: 'passwordpassword' })).toMatchObject({ status: 400, body: { _tag: 'PasswordRefused', field: 'new', reason: 'common' } });
    expect(await accountOf(owner)).toEqual(before);
    const member = await app.createMember(owner);
    expect(await member.call('PUT', '/v1/me/password', { current: 'x', new: 'another good one' })).toMatchObject({ status: 409, body: { _tag: 'PasswordNotAllowed' } });
  });

  test('429: whoever found a session open cannot try passwords for long', async () => {
    const browser = await signedIn(app, owner);
    const answers = await Promise.all(Array.from({ length: 14 }, () => change(browser, { current: 'not this one' })));
    expect(new Set(statuses(answers))).toEqual(new Set([403, 429]));
  });
});

describe('the leave to have a password', () => {
  const allow = (by: Caller, whom: string, allowed: boolean) => by.call('PUT', `/v1/organization/members/${whom}/password-sign-in`, { allowed });
  const newMember = async (): Promise<string> => (await app.createMember(owner, 'member', 'max@example.com')).memberId;

  test('200: an owner gives it with a link, and takes it with the password and the sessions', async () => {
    const id = await newMember();
    const { status, body } = await allow(owner, id, true);
    expect([status, body['allowed']]).toEqual([200, true]);
    expect(body['link']).toMatch(/^http:\/\/localhost:\d+\/auth\/setup#token=obl_/);
    const browser = new Browser(app.url);
    expect((await setUp((body['link'] as string).split('#token=')[1]!, {}, browser)).body).toMatchObject({ member: id });
    // Whoever has a password gets no link: nobody sets it for them.
    expect((await allow(owner, id, true)).body).toEqual({ allowed: true, link: null });
    expect((await allow(owner, id, false)).body).toEqual({ allowed: false, link: null });
    expect((await browser.ask('GET', '/v1/me')).status).toBe(401);
    expect((await signIn({ email: 'max@example.com' })).status).toBe(401);
  });

  test('403: an admin gives it to nobody', async () => {
    const [id, admin] = [await newMember(), await app.createMember(owner, 'admin')];
    expect(await allow(admin, id, true)).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  });

  test('409: nobody takes their own with the session that it would end; with a token they do', async () => {
    const browser = await signedIn(app, owner);
    const path = `/v1/organization/members/${owner.memberId}/password-sign-in`;
    expect(await browser.ask('PUT', path, { body: { allowed: false } })).toMatchObject({ status: 409, body: { _tag: 'OwnWayIn' } });
    expect([(await browser.ask('GET', '/v1/me')).status, (await signIn()).status]).toEqual([200, 200]);
    expect((await allow(owner, owner.memberId, false)).status).toBe(200);
    expect((await browser.ask('GET', '/v1/me')).status).toBe(401);
  });

  test('409: nobody gets it without an address', async () => {
    const id = await newMember();
    await outside.query('update member set email = null where id = $1', [fromPublicId('member', id)]);
    expect(await allow(owner, id, true)).toMatchObject({ status: 409, body: { _tag: 'AddressMissing' } });
  });
});
