import { fromPublicId } from '@platform/ids/typeid.js';
import { eventually } from '@test/support/eventually.js';
import { startChatApp, type ChatApp, type Person } from './chat-app.js';

const scopes = ['bots.read', 'bots.create', 'bots.delegate', 'chats.read', 'executions.read'];

let app: ChatApp;
let owner: Person;
beforeAll(async () => {
  app = await startChatApp({ OPENBOT_GRACE_MS: '100' });
});
beforeEach(async () => {
  owner = await app.person();
  app.provider.reset();
  // Nobody lets it go on: what ends was cut.
  app.provider.whenAsked(() => ({ text: ['Begins '], until: new Promise(() => undefined) }));
});
afterAll(() => app.close());

type Caller = Pick<Person, 'token' | 'call'>;
type Work = { readonly by: Caller; readonly execution: string };
type Row = { readonly state: string; readonly failure_category: string | null };

async function begin(by: Caller): Promise<Work> {
  const before = app.provider.requests.length;
  const bot = await app.bot(by as Person);
  const { body, status, text } = await by.call('POST', `/v1/bots/${bot}/messages`, { input: 'Work', commandKey: `begin-${bot}` });
  if (status !== 202) throw new Error(text);
  await app.provider.request(before + 1);
  return { by, execution: fromPublicId('execution', body.executionId as string)! };
}

const rowOf = async ({ execution }: Work): Promise<Row> => (await app.outside.query<Row>('select state, failure_category from execution where id = $1', [execution])).rows[0]!;
const stopped = (work: Work): Promise<Row> =>
  eventually(
    () => rowOf(work),
    ({ state }) => state === 'failed',
    5_000,
  );
const isOpen = async (work: Work): Promise<boolean> => !['failed', 'cancelled', 'completed'].includes((await rowOf(work)).state);
const revoked = { state: 'failed', failure_category: 'identity_revoked' };

/** A service account's token that the person makes. */
async function program(maker: Person, account?: string): Promise<Caller & { readonly account: string; readonly tokenId: string }> {
  const accounts = '/v1/organization/service-accounts';
  const id = account ?? ((await owner.call('POST', accounts, { name: 'Program' })).body.id as string);
  const { token, id: tokenId } = (await maker.call('POST', `${accounts}/${id}/tokens`, { name: 'First' })).body as { token: string; id: string };
  return { ...app.holder(token), account: id, tokenId };
}

const admin = async (): Promise<Person> => {
  const member = await app.member(owner);
  const promoted = await owner.call('PATCH', `/v1/organization/members/${member.memberId}`, { expected: 1, role: 'admin' });
  if (promoted.status !== 200) throw new Error(promoted.text);
  return member;
};
const change = (member: Person, body: object) => owner.call('PATCH', `/v1/organization/members/${member.memberId}`, { expected: 2, ...body });

test.each([
  ['is suspended', (maker: Person) => change(maker, { suspended: true })],
  ['may have no bots work any more', (maker: Person) => change(maker, { role: 'viewer' })],
  ['is removed', (maker: Person) => owner.call('DELETE', `/v1/organization/members/${maker.memberId}?expected=2`)],
])('when their maker %s, the work of keys and accounts is cut, and that of others’ keys and tokens goes on', async (_, act) => {
  const maker = await admin();
  const ours = await program(maker);
  const lost = [await begin(await app.apiKey(maker, scopes)), await begin(ours), await begin(maker)];
  const kept = [await begin(await app.apiKey(owner, scopes)), await begin(await program(owner, ours.account)), await begin(owner)];
  expect((await act(maker)).status).toBeLessThan(300);
  expect(await Promise.all(lost.map(stopped))).toEqual(lost.map(() => revoked));
  expect(await Promise.all(kept.map(isOpen))).toEqual(kept.map(() => true));
  expect(app.provider.requests).toHaveLength(lost.length + kept.length);
});

test('a revoked key stops the work of its mirrors in every project, and a revoked token only what was begun with it', async () => {
  const key = await app.apiKey(owner, scopes);
  const [byKey, byOther] = [await begin(key), await begin(await app.apiKey(owner, scopes))];
  expect((await owner.call('DELETE', `/v1/api-keys/${key.keyId}`)).status).toBe(204);
  expect(await stopped(byKey)).toEqual(revoked);

  const [first, second] = [await app.otherToken(owner), await app.otherToken(owner)];
  const [byFirst, bySecond] = [await begin(first), await begin(second)];
  const { token } = (await first.call('GET', '/v1/me')).body as { token: string };
  expect((await owner.call('DELETE', `/v1/me/tokens/${token}`)).status).toBe(204);
  expect(await stopped(byFirst)).toEqual(revoked);

  const account = await program(owner);
  const [byAccount, bySibling] = [await begin(account), await begin(await program(owner, account.account))];
  expect((await owner.call('DELETE', `/v1/organization/service-accounts/${account.account}/tokens/${account.tokenId}`)).status).toBe(204);
  expect(await stopped(byAccount)).toEqual(revoked);
  expect(await Promise.all([byOther, bySecond, bySibling].map(isOpen))).toEqual([true, true, true]);
});

test('a revoked token stops the work of what was made with it, and nothing of what a session or another token made', async () => {
  const [first, other] = [await app.otherToken(owner), await app.otherToken(owner)];
  const { token } = (await first.call('GET', '/v1/me')).body as { token: string };
  const account = (await owner.call('POST', '/v1/organization/service-accounts', { name: 'Program' })).body.id as string;
  const programOf = async ({ call }: Caller): Promise<Caller> =>
    app.holder((await call('POST', `/v1/organization/service-accounts/${account}/tokens`, { name: 'First' })).body.token as string);
  const ours = await programOf(first);
  const lost = [await begin(await app.apiKey(first, scopes)), await begin(ours), await begin(await app.otherToken({ ...owner, ...ours }))];
  const kept = [await begin(await app.apiKey(other, scopes)), await begin(await programOf(other)), await begin(owner)];
  expect((await owner.call('DELETE', `/v1/me/tokens/${token}`)).status).toBe(204);
  expect(await Promise.all(lost.map(stopped))).toEqual(lost.map(() => revoked));
  expect(await Promise.all(kept.map(isOpen))).toEqual(kept.map(() => true));
});

test('work ends with the time of the credential that it was begun with, in the middle of a call', async () => {
  const bot = await app.bot(owner);
  const { token } = (await owner.call('POST', '/v1/me/tokens', { name: 'Short', expiresInMs: 8_000 })).body as { token: string };
  const send = (key: string) => app.holder(token).call('POST', `/v1/bots/${bot}/messages`, { input: 'Work', commandKey: key, queue: true });
  const works = [await send('first'), await send('second')].map(({ body }): Work => ({ by: owner, execution: fromPublicId('execution', body.executionId as string)! }));
  await app.provider.request(1);
  for (const work of works)
    expect(
      await eventually(
        () => rowOf(work),
        ({ state }) => state === 'failed',
      ),
    ).toEqual({ state: 'failed', failure_category: expect.stringMatching(/^(deadline_exceeded|identity_revoked)$/) });
  expect(app.provider.requests).toHaveLength(1);
});
