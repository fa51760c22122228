import { openLane, type Lane } from './lane.js';
import { scenes } from './scenes/all-scenes.js';
import { askedSeed, askedSeeds, playSeeds } from './seeds.js';
import { playScene } from './stage.js';
import { installVirtualTime } from './virtual-time.js';

/** A seed plays every third scene: of two neighbours no two are the same. */
const share = 3;

describe('scenes', () => {
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

  test('no seed breaks a promise', async () => {
    const seeds = askedSeed === null ? Array.from({ length: askedSeeds / 2 }, (_, index) => index * 2 + 2) : [askedSeed];
    await playSeeds('scenes', lanes, seeds, async (lane, seed) => {
      for (const [index, scene] of scenes.entries()) if (index % share === seed % share) await playScene(lane, scene, seed);
    });
  });
});
