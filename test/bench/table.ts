import { median } from './median.js';
import type { Row } from './no-op.js';

const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

/** One line for each peer: both medians, the median of the rounds' ratios with its range, and what it must be. */
export function ratioTable(rows: readonly Row[]): string {
  const lines = rows.flatMap(({ of, medians, ratios }) =>
    [...ratios].map(([peer, rounds]) => {
      const ratio = median(rounds);
      const goal = of.goals[peer];
      const holds = !goal ? '' : (of.unit === 'ms' ? ratio <= goal.must : ratio >= goal.must) ? 'holds' : 'MISSED';
      const range = `${number(ratio)} (${number(Math.min(...rounds))}–${number(Math.max(...rounds))})`;
      return [of.name, of.unit, number(medians.get('openbot') ?? NaN), peer, number(medians.get(peer) ?? NaN), range, goal ? `${goal.must} / ${goal.aim}` : '–', holds];
    }),
  );
  return tableOf(['Measure', 'Unit', 'OpenBot', 'Peer', 'Peer’s', 'Ratio (range)', 'Must / aim', ''], lines);
}
