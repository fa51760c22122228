import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { accepted, endedExecution, eventsOf, itemsOf, leaseMs, openServerWorld, sendMessage, textOf, upTo, type Receipt, type ServerWorld } from './server-world.js';
import { eventually } from '@test/support/eventually.js';

const deltas = (request: number): string[] => upTo(20).map((part) => `${request}.${part} `);
const nodes = ['first', 'second'];

// Every test starts processes, and a busy machine takes its time for that.
jest.setTimeout(120_000);

let world: ServerWorld;
const places = new Map<string, ServerPlace>();
const servers = new Map<string, ServerRun>();
const serverOf = (node: string): ServerRun => servers.get(node)!;
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

/** The first request's answer takes two seconds; later ones come at once. */
async function startTurn(): Promise<{ receipt: Receipt; owner: string }> {
  world.provider.reset();
  world.provider.whenAsked(() => ({ text: deltas(world.provider.requests.length), ...(world.provider.requests.length === 1 ? { pauseMs: 100 } : {}) }));
  const receipt = await sendMessage(serverOf('first').local, 'Please');
  await world.text(receipt);
  const [{ owner }] = (await world.rows('select owner from execution where id = $1', [world.uuid(receipt)])) as [{ owner: string }];
  return { receipt, owner };
}

async function expectWhole(node: string, receipt: Receipt): Promise<void> {
  const { local } = serverOf(node);
  const events = await eventsOf(local, receipt);
  expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
  const attempts = events.filter(({ body }) => body._tag === 'ModelAttempt').map(({ body }) => body.attempt as number);
  const last = Math.max(...attempts);
  expect(last).toBeGreaterThan(1);
  const own = (await itemsOf(local, receipt.chat)).filter(({ origin }) => origin.turn === receipt.turn);
  expect(own.map(({ content }) => content.role)).toEqual(['user', 'assistant']);
  const streamed = events.filter(({ body }) => body._tag === 'Text' && body.attempt === last).map(({ body }) => body.delta as string).join(''); // prettier-ignore
  expect(textOf(own[1]?.content)).toBe(streamed);
  expect(streamed).toBe(deltas(world.provider.requests.length).join(''));
}

test('refused: a second process with the same node name says in one line what to change, and exits with 1', async () => {
  const place = await world.place({ node: 'first' });
  const refused = await place.startRefused();
  expect(refused).toMatchObject({ code: 1, signal: null });
  expect(refused.errors.trimEnd().split('\n')).toEqual([expect.stringMatching(/^OpenBot cannot start\. .*"first".*OPENBOT_NODE/)]);
});

/** Milliseconds from the kill of a turn's owner to the turn's end, both by the database's clock. */
async function killOwner(): Promise<number> {
  const { receipt, owner } = await startTurn();
  const [{ killed }] = (await world.rows('select clock_timestamp() as killed')) as [{ killed: Date }];
  serverOf(owner).signal('SIGKILL');
  await serverOf(owner).exited;
  expect(await endedExecution(serverOf(otherThan(owner)).local, receipt)).toMatchObject({ state: 'completed' });
  const [{ ms }] = (await world.rows('select extract(epoch from ended_at - $2::timestamptz) * 1000 as ms from execution where id = $1', [world.uuid(receipt), killed])) as [
    { ms: string },
  ];
  await expectWhole(otherThan(owner), receipt);
  servers.set(owner, await places.get(owner)!.start());
  return Number(ms);
}

test('killed in mid-turn: the other server finishes soon after the lease', async () => {
  // An observer that got no processor counts too little time, never too much: the best of three is the server's own.
  const measured: number[] = [];
  while (measured.length < 3 && !measured.some((ms) => ms <= leaseMs + 1_000)) measured.push(Math.round(await killOwner()));
  console.info(`ended ${measured.join(', ')} ms after the kill, with a lease of ${leaseMs} ms`);
  expect(Math.min(...measured)).toBeLessThanOrEqual(leaseMs + 5_000);
});

test('paused past its lease and resumed: the owner changes nothing, and serves under a new epoch', async () => {
  const { receipt, owner } = await startTurn();
  const survivor = otherThan(owner);
  const epochOf = async (): Promise<number> => Number((await world.rows('select epoch from node where name = $1', [owner]))[0]?.epoch ?? 0);
  const before = await epochOf();
  serverOf(owner).signal('SIGSTOP');
  expect(await endedExecution(serverOf(survivor).local, receipt)).toMatchObject({ state: 'completed' });
  // All of its answer lies in the sleeper's socket when it wakes.
  expect(await world.provider.requests[0]!.closed).toBe('sent');
  const stored = () =>
    Promise.all(
      [
        'select * from execution where id = $1',
        'select * from execution_event where execution_id = $1 order by sequence',
        // What it finds in its socket it may still hand in as late: that is a note beside the call, and changes nothing.
        `select to_jsonb(c) - 'late' - 'result' as call from execution_call c where c.execution_id = $1 order by c.step, c.attempt`,
        'select * from usage_entry where execution_id = $1 order by step, attempt',
        'select * from chat_item where turn_id = (select id from chat_turn where execution_id = $1) order by seq',
      ].map((sql) => world.rows(sql, [world.uuid(receipt)])),
    );
  const atRest = await stored();
  serverOf(owner).signal('SIGCONT');
  await eventually(epochOf, (epoch) => epoch > before);

  serverOf(survivor).signal('SIGTERM');
  expect(await serverOf(survivor).exited).toEqual({ code: 0, signal: null });
  await expectWhole(owner, receipt);
  const next = await sendMessage(serverOf(owner).local, 'And again');
  expect(await endedExecution(serverOf(owner).local, next)).toMatchObject({ state: 'completed' });
  expect(await stored()).toEqual(atRest);
  expect(await accepted(serverOf(owner).local, 'GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}`)).toMatchObject({ response: { status: 'completed' } });
});
