import { setTimeout as pause } from 'node:timers/promises';
import { summary } from './load.js';
import { converseUnder, expectWhole, openOutageWorld, type OutageWorld } from './outage-world.js';

const awayMs = 20_000;

let world: OutageWorld;
/** A world for each outage: what one leaves behind is no other's. */
beforeEach(async () => {
  world = await openOutageWorld({ nodes: ['first', 'second'] });
});
afterEach(() => world.close());

const restart = (how: 'fast' | 'immediate') => async (): Promise<void> => {
  await world.primary.stop(how);
  await world.primary.start();
};

/** Nothing passes in either direction and nobody is told, as behind a network that is down; then the connections of before are dead. */
async function cutOff(): Promise<void> {
  world.proxy.through(() => (chunk) => ({ pass: chunk.subarray(0, 0) }));
  await pause(awayMs);
  world.proxy.through(null);
  world.proxy.cutAll();
}

test.each([
  ['restarted in order', restart('fast')],
  ['crashed and restarted', restart('immediate')],
  [`cut off for ${awayMs / 1_000} s`, cutOff],
])('PostgreSQL %s under load: everything ends once, and clients see 503 with an id and nothing else', async (what, disturb) => {
  const bots = await world.load.createBots(20);
  const turns = await converseUnder(world, { bots, turnsEach: 2, round: what }, disturb);
  console.info(summary(`PostgreSQL ${what}`, turns, world.load));
  expect(turns.map(({ forgotten, lost }) => forgotten + lost)).toEqual(turns.map(() => 0));
  await expectWhole(world, turns, ['stream ended: RequestFailed storage_unavailable']);
});
