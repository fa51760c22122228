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

export function printTable(title: string, cells: readonly Cell[], outcomes: ReadonlyMap<Cell, Outcome<unknown> | Error>): void {
  const lines = cells.map((cell) => `${nameOf(cell).padEnd(44)} ${verdictOf(outcomes.get(cell))}`);
  process.stdout.write(`\n${title}: ${cells.length} cells\n${lines.join('\n')}\n`);
}
