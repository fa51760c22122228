import type { ContestantProcess } from './contestants/process.js';
import { median } from './median.js';
import type { Measure, Measured } from './measures.js';

export type Effort = { readonly rounds: number; readonly forMs: number };
/** `must` and `aim` are ours divided by the peer's. `lower`: of a latency, where less is better. */
export type Case = {
  readonly name: string;
  readonly unit: 'executions/s' | 'ms';
  readonly measure: (effort: Effort) => Measure;
  readonly among: readonly string[];
  readonly goals: Readonly<Record<string, { readonly must: number; readonly aim: number }>>;
};
export type Row = { readonly of: Case; readonly medians: ReadonlyMap<string, number>; readonly ratios: ReadonlyMap<string, readonly number[]> };

const loop =
  (steps: number, concurrency: number) =>
  ({ forMs }: Effort): Measure => ({ kind: 'loop', steps, concurrency, forMs });
const all = ['openbot', 'dbos', 'restate', 'graphile-worker'];
/** graphile-worker has no steps. */
const durable = ['openbot', 'dbos', 'restate'];

export const cases: readonly Case[] = [
  { name: '1 step, 50 at a time', unit: 'executions/s', measure: loop(1, 50), among: all, goals: { dbos: { must: 8, aim: 15 }, restate: { must: 4, aim: 7 } } },
  { name: '10 steps, 50 at a time', unit: 'executions/s', measure: loop(10, 50), among: durable, goals: { dbos: { must: 9, aim: 15 }, restate: { must: 3, aim: 5 } } },
  { name: '10 steps, 200 at a time', unit: 'executions/s', measure: loop(10, 200), among: durable, goals: { dbos: { must: 8, aim: 14 }, restate: { must: 2, aim: 3 } } },
  { name: '10 steps alone, p50', unit: 'ms', measure: loop(10, 1), among: durable, goals: { dbos: { must: 0.45, aim: 0.35 }, restate: { must: 0.45, aim: 0.35 } } },
  {
    name: 'handed in to started at 50/s, p50',
    unit: 'ms',
    measure: ({ forMs }) => ({ kind: 'start', perSecond: 50, forMs }),
    among: ['openbot', 'graphile-worker'],
    goals: { 'graphile-worker': { must: 0.8, aim: 0.7 } },
  },
];

/** Each round measures every contestant once, one right after the other, so that whatever else the machine does meets all of them. */
export async function measureCase(of: Case, contestants: readonly ContestantProcess[], effort: Effort, progress: (line: string) => void): Promise<Row> {
  const taken = new Map<string, number[]>(of.among.map((name) => [name, []]));
  for (let round = 1; round <= effort.rounds; round += 1) {
    for (const contestant of contestants.filter(({ name }) => of.among.includes(name))) {
      const value = valueOf(of, await contestant.take(of.measure(effort)));
      taken.get(contestant.name)?.push(value);
      progress(`${of.name}, round ${round}: ${contestant.name} ${value.toFixed(2)} ${of.unit}`);
    }
  }
  const ours = taken.get('openbot') ?? [];
  const peers = [...taken].filter(([name]) => name !== 'openbot');
  return {
    of,
    medians: new Map([...taken].map(([name, values]) => [name, median(values)])),
    ratios: new Map(peers.map(([name, values]) => [name, values.map((value, round) => (ours[round] ?? NaN) / value)])),
  };
}

const valueOf = ({ unit }: Case, { perSecond, p50Ms }: Measured): number => (unit === 'ms' ? p50Ms : perSecond);
