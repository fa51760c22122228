import { setTimeout as delay } from 'node:timers/promises';
import type { Contestant } from './contestants/contestant.js';
import { median } from './median.js';

export type Measure =
  | { readonly kind: 'loop'; readonly steps: number; readonly concurrency: number; readonly forMs: number }
  | { readonly kind: 'start'; readonly perSecond: number; readonly forMs: number };
export type Measured = { readonly perSecond: number; readonly p50Ms: number };

/** `concurrency` callers, each with one execution in flight, begin new ones for a time; the rate is of all that they began, up to the end of the last. */
async function closedLoop({ run }: Contestant, steps: number, concurrency: number, forMs: number): Promise<Measured> {
  const from = performance.now();
  const times: number[] = [];
  const caller = async (): Promise<void> => {
    for (let begin = from; begin < from + forMs;) {
      await run(steps);
      const end = performance.now();
      times.push(end - begin);
      begin = end;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return { perSecond: (times.length * 1000) / (performance.now() - from), p50Ms: median(times) };
}

/** An open loop: one execution is handed in at each beat, however the earlier ones fare. */
async function openLoop({ msToStart }: Contestant, perSecond: number, forMs: number): Promise<Measured> {
  const begin = performance.now();
  const times: Promise<number>[] = [];
  for (let beat = 0; ; beat += 1) {
    const at = begin + (beat * 1000) / perSecond;
    if (at >= begin + forMs) break;
    await delay(Math.max(0, at - performance.now()));
    times.push(msToStart());
  }
  return { perSecond, p50Ms: median(await Promise.all(times)) };
}

export const take = (contestant: Contestant, measure: Measure): Promise<Measured> =>
  measure.kind === 'loop' ? closedLoop(contestant, measure.steps, measure.concurrency, measure.forMs) : openLoop(contestant, measure.perSecond, measure.forMs);
