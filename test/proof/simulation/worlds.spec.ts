import { openLane, type Lane } from './lane.js';
import { askedSeed, askedSeeds, playSeeds } from './seeds.js';
import { installVirtualTime } from './virtual-time.js';
import { playWorld } from './world.js';

/** While one waits for its database, another plays. */
const laneCount = 3;

describe('worlds', () => {
  let lanes: Lane[];
  let restore: () => void;
  beforeAll(async () => {
    restore = installVirtualTime();
    lanes = await Promise.all(Array.from({ length: laneCount }, () => openLane()));
  });
  afterAll(async () => {
    for (const lane of lanes) await lane.close();
    restore();
  });

  test('no seed breaks a promise', async () => {
    const seeds = askedSeed === null ? Array.from({ length: askedSeeds / 2 }, (_, index) => index * 2 + 1) : [askedSeed];
    await playSeeds('worlds', lanes, seeds, playWorld);
  });

  test('a seed plays the same turns again', async () => {
    for (const seed of [3, 8, 11, 20]) {
      const [first, second] = await Promise.all(lanes.slice(0, 2).map((lane) => playWorld(lane, seed)));
      expect(first?.scheduler.schedule.length).toBeGreaterThan(50);
      expect(second?.scheduler.schedule).toEqual(first?.scheduler.schedule);
    }
  });
});
