import { openLane, type Lane } from './lane.js';
import { plantedBugs } from './planted-bugs.js';
import { scenes } from './scenes/all-scenes.js';
import { playScene } from './stage.js';
import { Violation } from './violation.js';
import { installVirtualTime } from './virtual-time.js';
import { playWorld } from './world.js';

const mostSceneSeeds = 80;
const mostWorldSeeds = 60;

describe('planted bugs', () => {
  let restore: () => void;
  beforeAll(() => void (restore = installVirtualTime()));
  afterAll(() => restore());

  /** The first seed that sees it, and what it sees. */
  async function hunt(most: number, play: (seed: number) => Promise<unknown>): Promise<{ seed: number; found: Violation } | null> {
    for (let seed = 1; seed <= most; seed += 1) {
      try {
        await play(seed);
      } catch (error) {
        if (error instanceof Violation) return { seed, found: error };
        throw error;
      }
    }
    return null;
  }
  const scenesOf =
    (lane: Lane) =>
    async (seed: number): Promise<void> => {
      for (const scene of scenes) await playScene(lane, scene, seed);
    };

  test('where nothing is planted, nothing is found', async () => {
    const lane = await openLane();
    try {
      expect(await hunt(10, scenesOf(lane))).toBeNull();
    } finally {
      await lane.close();
    }
  });

  test.each(plantedBugs.map((bug) => [bug.name, bug] as const))('%s', async (name, bug) => {
    const lane = await openLane(bug);
    try {
      const byScenes = await hunt(mostSceneSeeds, scenesOf(lane));
      const byWorld = process.env['BY'] === 'both' || !byScenes ? await hunt(mostWorldSeeds, (seed) => playWorld(lane, seed)) : null;
      const lines = [byScenes && `scenes, seed ${byScenes.seed}: ${byScenes.found.message}`, byWorld && `world, seed ${byWorld.seed}: ${byWorld.found.message}`].filter(Boolean);
      process.stdout.write(`planted: ${name}\n${lines.map((line) => `  ${String(line).slice(0, 200)}\n`).join('') || '  not found\n'}`);
      expect(byScenes ?? byWorld).not.toBeNull();
    } finally {
      await lane.close();
    }
  });
});
