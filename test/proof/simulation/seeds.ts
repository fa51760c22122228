import type { Lane } from './lane.js';
import { Violation } from './violation.js';

/** One seed, by itself, when a failure is played again. */
export const askedSeed = process.env['SEED'] === undefined ? null : Number(process.env['SEED']);
/** How many seeds the long run plays, in the world and on the stage together. */
export const askedSeeds = Number(process.env['SEEDS'] ?? 2_000);

type Broken = { readonly seed?: number; readonly scene?: string; readonly schedule?: readonly string[] };

/** What a failure prints: the seed, what it broke, its whole schedule, and how to play it again. */
export function report(violation: Violation & Broken): string {
  const { message, seed, scene, schedule } = violation;
  const turns = (schedule ?? []).map((turn, index) => `${String(index + 1).padStart(5)} ${turn}`);
  return [`seed ${seed}${scene ? `, scene "${scene}"` : ''} broke "${message}"`, ...turns, `play it again: SEED=${seed} npm run test:simulation`].join('\n');
}

/** Plays the seeds, as many at once as there are lanes. The first that breaks a promise ends all. */
export async function playSeeds(what: string, lanes: readonly Lane[], seeds: readonly number[], play: (lane: Lane, seed: number) => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  const left = [...seeds];
  const along = async (lane: Lane): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      try {
        await play(lane, seed);
      } catch (error) {
        left.length = 0;
        throw error instanceof Violation ? new Error(report(error)) : error;
      }
    }
  };
  // Nobody plays on when the next test begins.
  const ends = await Promise.allSettled(lanes.map(along));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  const seconds = (performance.now() - startedAt) / 1_000;
  process.stderr.write(`${what}: ${seeds.length} seeds in ${seconds.toFixed(1)} s, ${(seeds.length / seconds).toFixed(1)} seeds/s\n`);
}
