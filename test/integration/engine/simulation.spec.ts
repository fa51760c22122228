import { openLane, type Lane } from '@test/proof/simulation/lane.js';
import { scenes } from '@test/proof/simulation/scenes/all-scenes.js';
import { playSeeds } from '@test/proof/simulation/seeds.js';
import { playScene } from '@test/proof/simulation/stage.js';
import { installVirtualTime } from '@test/proof/simulation/virtual-time.js';
import { playWorld } from '@test/proof/simulation/world.js';

/** The first seeds of `npm run test:simulation`, so that a change of the engine meets them at once. */
describe('the engine under a seeded scheduler', () => {
  let lanes: Lane[];
  let restore: () => void;
  beforeAll(async () => {
    restore = installVirtualTime();
    lanes = await Promise.all([openLane(), openLane()]);
  });
  afterAll(async () => {
    for (const lane of lanes) await lane.close();
    restore();
  });

  test('a few worlds keep every promise', () => playSeeds('worlds', lanes, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23], playWorld));

  test('every scene keeps every promise', () =>
    playSeeds('scenes', lanes, [1, 2], async (lane, seed) => {
      for (const scene of scenes) await playScene(lane, scene, seed);
    }));
});
