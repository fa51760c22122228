import { median } from './median.js';
import type { Row } from './no-op.js';

const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

/** One line of the whole table. `range`: what its rounds measured, or their ratios to the peer. */
export type Line = {
  readonly measure: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer?: { readonly name: string; readonly measured: number };
  readonly ratio?: number;
  readonly range?: readonly number[];
  readonly must: string;
  readonly aim: string;
  /** Of the Must; without one there is none. */
  readonly verdict?: boolean;
};

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}

/** One line for each peer: both medians, and the median of the rounds' ratios with its range. */
export const peerLines = ({ of, medians, ratios }: Row): Line[] =>
  [...ratios].map(([name, rounds]) => {
    const ratio = median(rounds);
    const goal = of.goals[name];
    const sign = of.unit === 'ms' ? '≤' : '≥';
    return {
      measure: of.name,
      unit: of.unit,
      ours: medians.get('openbot') ?? NaN,
      peer: { name, measured: medians.get(name) ?? NaN },
      ratio,
      range: rounds,
      must: goal ? `${sign} ${goal.must}×` : '',
      aim: goal ? `${sign} ${goal.aim}×` : '',
      ...(goal ? { verdict: of.unit === 'ms' ? ratio <= goal.must : ratio >= goal.must } : {}),
    };
  });

const rangeOf = (range: readonly number[] | undefined): string => (range ? `${number(Math.min(...range))}–${number(Math.max(...range))}` : '');

export const wholeTable = (lines: readonly Line[]): string =>
  tableOf(
    ['Measure', 'Unit', 'OpenBot', 'Peer', 'Peer’s', 'Ratio', 'Range', 'Must', 'Aim', 'Must'],
    lines.map(({ measure, unit, ours, peer, ratio, range, must, aim, verdict }) => [
      measure,
      unit,
      number(ours),
      peer?.name ?? '',
      peer ? number(peer.measured) : '',
      ratio === undefined ? '' : `${number(ratio)}×`,
      rangeOf(range),
      must,
      aim,
      verdict === undefined ? '' : verdict ? 'holds' : 'MISSED',
    ]),
  );
