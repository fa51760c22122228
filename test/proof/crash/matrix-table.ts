import { disturbances, type Cell, type Outcome } from './lane.js';

export type Points = readonly { readonly point: string; readonly times: readonly number[] }[];

export const cellsOf = (points: Points): readonly Cell[] =>
  points.flatMap(({ point, times }) => times.flatMap((time) => disturbances.map((disturbance) => ({ point, time, disturbance }))));

export const nameOf = ({ point, time, disturbance }: Cell): string => `${point}${time > 1 ? `#${time}` : ''} × ${disturbance}`;

/** What became of a cell, in a few words. */
function verdictOf(outcome: Outcome<unknown> | Error | undefined): string {
  if (outcome === undefined) return 'not run';
  if (outcome instanceof Error) return outcome.message;
  const { unknown, tookMs } = outcome;
  const became = unknown.length === 0 ? 'as undisturbed' : unknown.map((call) => `${call.name} unknown, then ${call.decision}`).join('; ');
  return `${(tookMs / 1000).toFixed(1).padStart(5)} s  ${became}`;
}

/** One line for each cell, and above them how many points, how many cells ended in which way, and the time of all and of the slowest. */
export function printTable(title: string, cells: readonly Cell[], outcomes: ReadonlyMap<Cell, Outcome<unknown> | Error>): void {
  const lines = cells.map((cell) => `${nameOf(cell).padEnd(44)} ${verdictOf(outcomes.get(cell))}`);
  const done = cells.flatMap((cell) => {
    const outcome = outcomes.get(cell);
    return outcome === undefined || outcome instanceof Error ? [] : [outcome];
  });
  const decided = done.filter(({ unknown }) => unknown.length > 0).length;
  const seconds = done.map(({ tookMs }) => tookMs / 1_000);
  const points = new Set(cells.map(({ point }) => point)).size;
  const summary = [
    `${title}: ${points} points, ${cells.length} cells: ${done.length - decided} as undisturbed, ${decided} by a decision, ${cells.length - done.length} failed`,
    `${seconds.reduce((sum, took) => sum + took, 0).toFixed(0)} s of all lanes, the slowest cell ${Math.max(0, ...seconds).toFixed(1)} s`,
  ];
  process.stdout.write(`\n${[...summary, ...lines].join('\n')}\n`);
}
