import { eventually } from '@test/support/eventually.js';
import type { RecordedRequest, ScriptedAnswer } from '@test/support/scripted-provider.js';
import { pauses, summary, type Turn } from './load.js';
import { converseUnder, expectWhole, openOutageWorld, type Node, type OutageWorld } from './outage-world.js';
import { raiseTurns, type RaisedBuild } from './raised-build.js';

const conversations = 300;
const rounds = ['SIGTERM', 'SIGKILL', 'raised'] as const;
/** One word of each turn in so much time: a hundred events and twenty-five steps a second, which two cores can carry beside what starts. */
const wordMs = 3_000;
const words = ['One ', 'after ', 'the ', 'other. '];

let world: OutageWorld;
let build: RaisedBuild;
beforeAll(async () => {
  build = await raiseTurns();
  // A lease as by default, and grace for the model call of each turn to come to its end.
  world = await openOutageWorld({ nodes: ['first', 'second', 'third'], env: { OPENBOT_LEASE_MS: '10000', OPENBOT_GRACE_MS: '15000' } });
});
afterAll(async () => {
  await world.close();
  await build.close();
});

/** Senders and readers go to the other nodes meanwhile, as behind a balancer. */
async function restart(node: Node, round: (typeof rounds)[number]): Promise<void> {
  const run = node.run!;
  node.run = null;
  run.signal(round === 'SIGKILL' ? 'SIGKILL' : 'SIGTERM');
  await run.exited;
  await world.start(node, round === 'raised' ? build.folder : undefined);
}

type Item = { readonly type?: string; readonly role?: string; readonly call_id?: string; readonly content?: readonly { readonly text?: string }[] };

/**
 * The world outside: every step of a turn says a few words and calls a tool, until all restarts are over; then it answers. It keeps what it was
 * shown: the calls whose results each request brought, by the bot that the message names.
 */
class Outside {
  isOver = false;
  readonly shown = new Map<string, string[]>();

  answer = ({ body }: RecordedRequest): ScriptedAnswer => {
    const input = body['input'] as readonly Item[];
    const asked = input.findLastIndex(({ role }) => role === 'user');
    const bot = /bot_\w+/.exec(JSON.stringify(input[asked]))![0];
    const results = input.slice(asked).flatMap(({ type, call_id }) => (type === 'function_call_output' ? [call_id!] : []));
    this.shown.set(bot, results);
    const usage = { input: 10, output: 5 };
    if (this.isOver) return { text: ['Done.'], usage };
    const items = [{ id: 'one', content: `Step ${results.length + 1}`, status: 'done' }];
    return { text: words, wordMs, calls: [{ id: `call_${results.length + 1}`, name: 'openbot_todos', arguments: JSON.stringify({ items }) }], usage };
  };
}

const inFlight = async (): Promise<number> => {
  const [row] = (await world.rows(`select count(*)::int as count from execution where workflow = 'turn' and ended_at is null`)) as [{ count: number }];
  return row.count;
};

test('three nodes restarted one after another by SIGTERM, by kill -9, and to a build of the next version, with 300 turns in flight: nothing lost, nothing doubled, no event missed', async () => {
  const bots = await world.load.createBots(conversations);
  const outside = new Outside();
  const began: number[] = [performance.now()];
  const open: number[] = [];
  const turns = await converseUnder(world, { bots, turnsEach: 1, round: 'message', answer: outside.answer }, async () => {
    // Everybody has used a tool and asks again: what an undisturbed turn looks like is measured too.
    await eventually(() => [...outside.shown.values()].filter(({ length }) => length > 0).length, (asking) => asking === conversations, 180_000); // prettier-ignore
    for (const round of rounds) {
      began.push(performance.now());
      for (const node of world.nodes) {
        open.push(await inFlight());
        await restart(node, round);
      }
    }
    began.push(performance.now());
    outside.isOver = true;
  });
  const calls = new Map(turns.map((turn, n) => [turn, outside.shown.get(bots[n]!)!]));
  const steps = [...calls.values()].reduce((sum, { length }) => sum + length + 1, 0);
  console.info(summary('rolling restart', turns, world.load));
  for (const [n, round] of ['undisturbed', ...rounds].entries()) console.info(`${round}: ${pauses(turns, began[n], began[n + 1])}`);
  console.info(`${steps} model steps in ${world.provider.requests.length} requests, the rest repeated after a kill`);
  expect(open).toEqual(open.map(() => conversations));

  // What the outside saw: each call's result once, in order.
  for (const results of calls.values()) expect(results).toEqual(results.map((_, n) => `call_${n + 1}`));
  await expectWhole(world, turns, ['no connection'], (turn: Turn) => calls.get(turn)!.length);
  // A node that is away is another node's request: nobody was refused.
  expect(world.load.answers['503 with id and Retry-After'] ?? 0).toBe(0);

  // Admitted in the old shape, ended by the new build, which left nothing behind.
  const shapes = await world.rows(`select workflow_version as version, cursor ->> 'raisedFrom' as raised, count(*)::int from execution where workflow = 'turn' group by 1, 2`);
  expect(shapes).toEqual([{ version: 2, raised: '1', count: conversations }]);
});
