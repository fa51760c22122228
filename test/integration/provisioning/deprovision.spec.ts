import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { VouchForDomainCommand } from '@contexts/identity-providers/public/vouch-for-domain.command.js';
import { BeginSessionCommand } from '@contexts/sign-in/public/begin-session.command.js';
import { IssueTokenCommand } from '@contexts/sign-in/public/issue-token.command.js';
import { transact } from '@platform/database/transact.js';
import { sessionCookie } from '@platform/identity/session-cookie.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { TestApp } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { startChatApp, type ChatApp, type Person } from '../chats/chat-app.js';
import { openSse, type SseClient } from '../executions/sse-client.js';
import { memberOf, patchOf, person, scimOf, type Scim } from './world.js';

const leavers = 5;
const todosCall = { id: 'call_1', name: 'openbot_todos', arguments: '{"items":[]}' };

/** Somebody with one of everything that somebody can be let in by, each with its own work. */
type Leaver = {
  readonly id: string;
  /** A UUID. */
  readonly member: string;
  readonly email: string;
  readonly credentials: Readonly<Record<'token' | 'key' | 'program', string>>;
  readonly keyId: string;
  readonly session: string;
  readonly streams: readonly SseClient[];
};

let app: ChatApp;
let nodes: readonly TestApp[];
let owner: Person;
let scim: Scim;
beforeAll(async () => {
  app = await startChatApp({ OPENBOT_ROLES: 'api' });
  nodes = [await app.start({ OPENBOT_NODE: 'first' }), await app.start({ OPENBOT_NODE: 'second' }), await app.start({ OPENBOT_NODE: 'third' })];
  owner = await app.person();
  const made = await owner.call('POST', '/v1/organization/identity-providers', { name: 'Example', issuer: 'http://127.0.0.1:9', clientId: 'openbot', defaultRole: 'admin' });
  await owner.call('POST', '/v1/organization/domains', { domain: 'example.com', identityProvider: made.body.id });
  await nodes[0]!.commands.execute(new VouchForDomainCommand(owner.organizationId, 'example.com'));
  const token = await owner.call('POST', `/v1/organization/identity-providers/${made.body.id}/scim-tokens`, { name: 'Directory' });
  scim = scimOf(nodes[0]!.url, token.body.token as string);
  app.provider.whenAsked(() => ({ calls: [todosCall] }));
});
const streamsOpen: SseClient[] = [];
afterAll(async () => {
  for (const stream of streamsOpen) stream.close();
  await app.close();
});

const statusBy = async (node: TestApp, { credentials, session }: Leaver): Promise<number[]> => {
  const asked = [...Object.values(credentials).map((token) => ({ authorization: `Bearer ${token}` })), { cookie: `${sessionCookie}=${session}` }];
  return Promise.all(asked.map(async (headers) => (await fetch(`${node.url}/v1/bots`, { headers })).status));
};

async function newLeaver(index: number): Promise<Leaver> {
  const sent = person();
  const { id } = (await scim('POST', '/Users', sent)).body;
  const { id: member } = await memberOf(owner as never, sent.userName);
  const context = { organizationId: owner.organizationId, projectId: null };
  const memberId = fromPublicId('member', member as string)!;
  const { token } = await nodes[0]!.commands.execute(new IssueTokenCommand(context, memberId, { name: 'Laptop', expiresInMs: null }));
  const call = nodes[index % nodes.length]!.as(token);
  const key = await call('POST', '/v1/api-keys', { name: 'Program', scopes: ['bots.read', 'bots.create', 'bots.delegate', 'executions.read'] });
  const account = await call('POST', '/v1/organization/service-accounts', { name: `Program ${index}`, role: 'member' });
  const program = await call('POST', `/v1/organization/service-accounts/${account.body['id'] as string}/tokens`, { name: 'First' });
  const begun = await transact(nodes[0]!.nest.get(DataSource), context, async (tx) =>
    ok(await nodes[0]!.commands.execute(new BeginSessionCommand(owner.organizationId, memberId, { userAgent: null, address: '127.0.0.1', session: null }, 'oidc', tx))),
  );
  const credentials = { token, key: key.body['key'] as string, program: program.body['token'] as string };
  const streams = await Promise.all(Object.values(credentials).map((each, at) => beginWork(nodes[(index + at) % nodes.length]!, nodes[(index + at + 1) % nodes.length]!, each)));
  return { id, member: memberId, email: sent.userName, credentials, keyId: key.body['id'] as string, session: begun.ok ? begun.value.secret : '', streams };
}

/** Work that asks its model again and again, begun on one node and watched on another. */
async function beginWork(node: TestApp, other: TestApp, token: string): Promise<SseClient> {
  const call = node.as(token);
  const bot = await call('POST', '/v1/bots', { name: 'Planner', model: { provider: 'openai', model: 'scripted' }, maxSteps: 200 });
  const sent = await call('POST', `/v1/bots/${bot.body['id'] as string}/messages`, { input: 'Work', commandKey: 'work' });
  if (sent.status !== 202) throw new Error(bot.text + sent.text);
  const stream = await openSse(`${other.url}/v1/executions/${sent.body['executionId'] as string}/observe`, token);
  streamsOpen.push(stream);
  return stream;
}

const setActive = (id: string, active: boolean) => scim('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: active ? 'True' : 'False' }));

test('whom a directory stops on one of three nodes under load is out on all of them within seconds, and comes back with no more than they may', async () => {
  const crowd: Leaver[] = [];
  for (let index = 0; index < leavers; index += 1) crowd.push(await newLeaver(index));
  for (const node of nodes) for (const each of crowd) expect(await statusBy(node, each)).toEqual([200, 200, 200, 200]);
  for (const { streams } of crowd) await eventually(() => streams.every(({ frames }) => frames.length > 0));

  const took: number[] = [];
  await Promise.all(
    crowd.map(async (each, index) => {
      // Each at another moment of the others' work.
      await app.provider.request(app.provider.requests.length + index * 3);
      const from = performance.now();
      expect((await setActive(each.id, false)).status).toBe(200);
      for (const node of nodes) expect(await statusBy(node, each)).toEqual([401, 401, 401, 401]);
      await Promise.all(each.streams.map(({ ended }) => ended));
      const members = `select id from member where id = $1 or key_id in (select id from credential where created_by = $1) or id in (select member_id from credential where created_by = $1)`;
      await eventually(
        async () =>
          (await app.outside.query<{ state: string; why: string | null }>(`select state, failure_category as why from execution where member_id in (${members})`, [each.member]))
            .rows,
        (rows) => rows.length === 3 && rows.every(({ state, why }) => state === 'failed' && why === 'identity_revoked'),
      );
      took.push(Math.round(performance.now() - from));
    }),
  );

  process.stdout.write(`out everywhere after ${took.join(', ')} ms (promised: 5,000)\n`);

  // By one clock: what was let out was let out before its identity was revoked.
  const { rows } = await app.outside.query<{ late: boolean; seen: boolean }>(
    `select coalesce(c.created_at > r.since, false) as late, r.since is not null as seen from execution x
     join execution_call c on c.execution_id = x.id and c.state <> 'abandoned' left join identity_revocation r on r.identity_id = x.identity_id where x.organization_id = $1`,
    [owner.organizationId],
  );
  expect(rows.length).toBeGreaterThan(leavers);
  expect(rows.filter(({ late, seen }) => late || !seen)).toEqual([]);

  const [plain, suspended, revoked] = crowd as [Leaver, Leaver, Leaver];
  const { id, revision } = await memberOf(owner as never, suspended.email);
  await owner.call('PATCH', `/v1/organization/members/${id}`, { expected: revision, suspended: true });
  expect((await owner.call('DELETE', `/v1/api-keys/${revoked.keyId}`)).status).toBe(204);
  for (const each of crowd) expect((await setActive(each.id, true)).status).toBe(200);
  for (const node of nodes) {
    expect(await statusBy(node, plain)).toEqual([200, 200, 200, 401]);
    expect(await statusBy(node, suspended)).toEqual([401, 401, 401, 401]);
    expect(await statusBy(node, revoked)).toEqual([200, 401, 200, 401]);
  }
  const { rows: work } = await app.outside.query(`select 1 from execution where organization_id = $1 and state not in ('failed')`, [owner.organizationId]);
  expect(work).toEqual([]);
});
