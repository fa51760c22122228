import { Lane, type Cell, type Outcome } from './lane.js';
import { troublePoints } from './matrix-points.js';
import { openTroubleScenario } from './matrix-scenario.js';
import { cellsOf, nameOf, printTable } from './matrix-table.js';
import { startOutside, type Outside } from './outside.js';
import type { Portrait } from './portrait.js';

const cells = cellsOf(troublePoints);

/** Whether the next owner of the letter comes before its late answer or behind it is a matter of who is faster. */
const settled = ({ states, ...portrait }: Portrait): object => ({ ...portrait, states: states.join(' ').replace('outcome_unknown running ', '') });

describe('work in trouble that is disturbed at a named point', () => {
  const outcomes = new Map<Cell, Outcome<Portrait> | Error>();
  let outside: Outside;
  let undisturbed: Portrait;

  beforeAll(async () => {
    outside = await startOutside(80);
    const waiting = [...cells];
    await Promise.all(
      ['calm', 'rough'].map(async (name) => {
        const lane = await Lane.open(name, await openTroubleScenario(outside));
        try {
          undisturbed = await lane.undisturbed();
          await lane.work(waiting, outcomes);
        } finally {
          await lane.close();
        }
      }),
    );
  }, 720_000);
  afterAll(async () => {
    printTable('work in trouble', cells, outcomes);
    await outside.close();
  });

  test('the work itself, undisturbed', () => {
    expect(undisturbed).toMatchObject({
      state: 'interrupted',
      rows: [1, 2, 3],
      children: ['cancelled', 'completed 1', 'completed 1'],
      feed: [
        'execution.cancelled',
        'execution.completed',
        'execution.completed',
        'execution.interrupted',
        'execution.started',
        'execution.started',
        'execution.started',
        'execution.started',
      ],
      told: true,
      leases: 0,
      overbilled: false,
      calls: ['1:parcel succeeded', '2:too-much abandoned', '3:late-letter succeeded'],
      effects: { '1:parcel': 1, '3:late-letter': 1 },
      crowd: 1,
      gapless: true,
    });
    expect(undisturbed.usage).toHaveLength(2);
  });

  test.each(cells.map((cell) => [nameOf(cell), cell] as const))('%s', (_, cell) => {
    const outcome = outcomes.get(cell);
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('the cell did not run');
    expect(outcome.unknown).toEqual([]);
    expect(settled(outcome.portrait)).toEqual(settled(undisturbed));
  });
});
