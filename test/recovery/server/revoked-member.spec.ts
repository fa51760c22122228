import { openSse } from '@test/integration/executions/sse-client.js';
import { eventually } from '@test/support/eventually.js';
import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { accepted, endedExecution, joined, openServerWorld, request, scriptedModel, sendMessage, upTo, type Receipt, type ServerWorld } from './server-world.js';

/** One works, one is asked to change, and streams are open at all of them. */
const nodes = ['first', 'second', 'third'];
type Member = { readonly id: string; readonly token: string; readonly botId: string; revision: number };

// Every test starts processes, and a busy machine takes its time for that.
jest.setTimeout(120_000);

let world: ServerWorld;
const places = new Map<string, ServerPlace>();
const servers = new Map<string, ServerRun>();
const localOf = (node: string) => servers.get(node)!.local;
const otherThan = (node: string): string => nodes.find((name) => name !== node)!;

beforeAll(async () => {
  world = await openServerWorld();
  await Promise.all(
    nodes.map(async (node) => {
      places.set(node, await world.place({ node }));
      servers.set(node, await places.get(node)!.start());
    }),
  );
});
afterAll(() => world.close());

const at = (node: string, { token, botId }: Member) => ({ url: localOf(node).url, token, botId });

let members = 0;
async function newMember(): Promise<Member> {
  const owner = localOf('first');
  const { id, token } = await joined(owner, { email: `max-${(members += 1)}@example.com` });
  const bot = (await accepted({ url: owner.url, token }, 'POST', '/v1/bots', { name: 'Planner', model: scriptedModel })) as { id: string };
  return { id, token, botId: bot.id, revision: 1 };
}

const todos = { id: 'call_1', name: 'openbot_todos', arguments: '{"todos":[]}' };

/** The first request streams for two seconds and then calls a tool, so that another model step would follow. */
async function startTurn(member: Member): Promise<{ receipt: Receipt; owner: string }> {
  world.provider.reset();
  const long = { text: upTo(20).map((part) => `${part} `), calls: [todos], pauseMs: 100 };
  world.provider.whenAsked(() => (world.provider.requests.length === 1 ? long : { text: ['Done.'] }));
  const receipt = await sendMessage(at('first', member), 'Please');
  await world.text(receipt);
  const [{ owner }] = (await world.rows('select owner from execution where id = $1', [world.uuid(receipt)])) as [{ owner: string }];
  return { receipt, owner };
}

const change = async (node: string, member: Member, body: object): Promise<void> => {
  const changed = (await accepted(localOf(node), 'PATCH', `/v1/organization/members/${member.id}`, { expected: member.revision, ...body })) as { revision: number };
  member.revision = changed.revision;
};

const endOf = (receipt: Receipt): Promise<{ state: string; failure_category: string | null }[]> =>
  eventually(
    () => world.rows('select state, failure_category from execution where id = $1 and ended_at is not null', [world.uuid(receipt)]),
    (rows) => rows.length === 1,
    10_000,
  ) as Promise<{ state: string; failure_category: string | null }[]>;

const taken: readonly (readonly [what: string, act: (node: string, member: Member) => Promise<unknown>, streams: boolean])[] = [
  ['is suspended', (node, member) => change(node, member, { suspended: true }), true],
  ['may have no bots work any more', (node, member) => change(node, member, { role: 'viewer' }), false],
  ['is removed', (node, member) => accepted(localOf(node), 'DELETE', `/v1/organization/members/${member.id}?expected=${member.revision}`), true],
];

test.each(taken)('a member who %s through another server: the turn is cut, nothing more is sent, and streams end within 5 seconds', async (what, act, streams) => {
  const member = await newMember();
  const { receipt, owner } = await startTurn(member);
  const other = otherThan(owner);
  // Another way in is another author, whose turn waits behind the one that runs.
  const phone = (await accepted(at('first', member), 'POST', '/v1/me/tokens', { name: 'Phone' })) as { token: string };
  const behind = await sendMessage({ ...at('first', member), token: phone.token }, 'And then');
  const { projectId } = localOf('first');
  const open = await Promise.all(
    nodes.flatMap((node) =>
      [`/v1/executions/${receipt.executionId}/observe`, `/v1/projects/${projectId}/events/observe`].map((path) => openSse(localOf(node).url + path, member.token)),
    ),
  );
  expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));

  const began = performance.now();
  await act(other, member);
  const answered = performance.now();
  const since = () => Math.round(performance.now() - answered);
  const ends = open.map(({ ended }) => ended.then(since));
  const [first] = world.provider.requests;
  expect(await first!.closed).toBe('aborted');
  const cut = since();
  expect(await Promise.all([endOf(receipt), endOf(behind)])).toEqual([
    [{ state: 'failed', failure_category: 'identity_revoked' }],
    [{ state: 'failed', failure_category: 'identity_revoked' }],
  ]);
  const over = since();
  const waited = await Promise.all(streams ? ends : ends.filter((_, index) => index % 2 === 0));
  console.info(`a member who ${what}: answered after ${Math.round(answered - began)} ms; since then cut ${cut} ms, ended ${over} ms, streams ${waited.join(', ')} ms`);
  expect(Math.max(...waited)).toBeLessThanOrEqual(5_000);
  expect((await request(at(other, member), 'GET', '/v1/me')).status).toBe(streams ? 401 : 200);
  expect(world.provider.requests).toHaveLength(1);
  expect(await world.rows(`select 1 from execution_call where execution_id = any ($1) and state = 'sending'`, [[world.uuid(receipt), world.uuid(behind)]])).toEqual([]);
  for (const stream of open) stream.close();
});

test('a member who is let in again: new work runs to its end', async () => {
  const member = await newMember();
  const { receipt, owner } = await startTurn(member);
  await change(otherThan(owner), member, { suspended: true });
  await change(owner, member, { suspended: false });
  const next = await sendMessage(at(owner, member), 'Again');
  expect(await endedExecution(at(owner, member), next)).toMatchObject({ state: 'completed' });
  expect(await endedExecution(at(owner, member), receipt)).toMatchObject({ state: 'failed', failure: { category: 'identity_revoked' } });
});

test('a key that is revoked, and one whose maker may no more, through another server: their turns are cut, and the maker’s own goes on until it is', async () => {
  const member = await newMember();
  await change('first', member, { role: 'admin' });
  const scopes = ['bots.read', 'bots.create', 'bots.delegate', 'executions.read', 'chats.read'];
  const program = async (): Promise<Member & { readonly keyId: string }> => {
    const { id: keyId, key: token } = (await accepted(at('first', member), 'POST', '/v1/api-keys', { name: 'Program', scopes })) as { id: string; key: string };
    const bot = (await accepted({ url: localOf('first').url, token }, 'POST', '/v1/bots', { name: 'Planner', model: scriptedModel })) as { id: string };
    return { id: '', token, botId: bot.id, revision: 1, keyId };
  };
  const [first, second] = [await program(), await program()];
  world.provider.reset();
  world.provider.whenAsked(() => ({ text: upTo(100).map((part) => `${part} `), pauseMs: 100 }));
  const works = await Promise.all([first, second, member].map((who) => sendMessage(at('second', who), 'Please')));
  await Promise.all(works.map((receipt) => world.text(receipt)));
  const state = async (receipt: Receipt) => ((await world.rows('select state from execution where id = $1', [world.uuid(receipt)])) as [{ state: string }])[0].state;

  expect((await request(at('third', member), 'DELETE', `/v1/api-keys/${first.keyId}`)).status).toBe(204);
  expect(await endOf(works[0]!)).toEqual([{ state: 'failed', failure_category: 'identity_revoked' }]);
  expect(await Promise.all([state(works[1]!), state(works[2]!)])).toEqual(['running', 'running']);
  await change('third', member, { role: 'viewer' });
  expect(await Promise.all([endOf(works[1]!), endOf(works[2]!)])).toEqual(Array(2).fill([{ state: 'failed', failure_category: 'identity_revoked' }]));
  expect(world.provider.requests).toHaveLength(3);
});
