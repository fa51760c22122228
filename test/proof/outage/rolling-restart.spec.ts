import type { ScriptedAnswer } from '@test/support/scripted-provider.js';
import { summary } from './load.js';
import { converse, converseUnder, expectWhole, openOutageWorld, type Node, type OutageWorld } from './outage-world.js';

const conversations = 300;

let world: OutageWorld;
beforeAll(async () => {
  world = await openOutageWorld({ nodes: ['first', 'second', 'third'], env: { OPENBOT_WORKER_SLOTS: '400' } });
});
afterAll(() => world.close());

/** Readers and senders go to the other nodes meanwhile. */
async function restart(node: Node, signal: NodeJS.Signals): Promise<void> {
  const run = node.run!;
  node.run = null;
  run.signal(signal);
  await run.exited;
  node.run = await node.place.start();
}

test('three nodes restarted one after another by SIGTERM, then by kill -9, with 300 turns in flight: nothing lost, nothing doubled, no event missed', async () => {
  const bots = await world.load.createBots(conversations);
  const over: { restarts: () => void } = { restarts: () => undefined };
  const restarted = new Promise<void>((resolve) => (over.restarts = resolve));
  let asked = 0;
  // Every second answer waits for the last restart, so that turns are in flight in all of them.
  const answer = (request: Parameters<typeof converse>[0]): ScriptedAnswer => {
    const scripted = converse(request);
    return 'text' in scripted && (asked += 1) % 2 === 0 ? { ...scripted, until: restarted } : scripted;
  };
  const open: number[] = [];
  const turns = await converseUnder(world, { bots, turnsEach: 1, round: 'message', answer }, async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const node of world.nodes) {
        open.push(...(await world.rows('select count(*)::int as count from execution where ended_at is null')).map(({ count }) => count as number));
        await restart(node, signal);
      }
    }
    over.restarts();
  });
  console.info(`${summary('rolling restart', turns, world.load)}; turns open at each restart ${JSON.stringify(open)}, ${world.provider.requests.length} model requests`);
  expect(open[0]).toBe(conversations);
  for (const count of open) expect(count).toBeGreaterThan(0);
  await expectWhole(world, turns, ['no connection']);
});
