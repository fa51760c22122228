import { Lane, type Cell, type Outcome } from './lane.js';
import { turnPoints } from './matrix-points.js';
import { cellsOf, nameOf, printTable } from './matrix-table.js';
import { openTurnScenario, type TurnPortrait } from './turn-scenario.js';

const cells = cellsOf(turnPoints);

describe('a turn of the built program that is disturbed at a named point', () => {
  const outcomes = new Map<Cell, Outcome<TurnPortrait> | Error>();
  let undisturbed: TurnPortrait;

  beforeAll(async () => {
    const waiting = [...cells];
    await Promise.all(
      ['one', 'two'].map(async (name) => {
        const lane = await Lane.open(name, await openTurnScenario(`${name}-api`));
        try {
          undisturbed = await lane.undisturbed();
          await lane.work(waiting, outcomes);
        } finally {
          await lane.close();
        }
      }),
    );
  }, 720_000);
  afterAll(() => printTable('turns of the built program', cells, outcomes));

  test('the turn itself, undisturbed', () => {
    expect(undisturbed).toMatchObject({
      execution: 'completed',
      states: ['queued', 'running', 'completed'],
      results: ['call_first completed', 'call_second completed'],
      texts: { 2: 'The answer comes in six parts.' },
      turn: 'Completed',
      overbilled: false,
      gapless: true,
    });
    // The question, two calls with their outputs, the answer.
    expect(undisturbed.items).toHaveLength(6);
    expect(undisturbed.usage).toHaveLength(2);
  });

  test.each(cells.map((cell) => [nameOf(cell), cell] as const))('%s', (_, cell) => {
    const outcome = outcomes.get(cell);
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('the cell did not run');
    const { texts, ...stored } = outcome.portrait;
    const { texts: said, ...undisturbedStore } = undisturbed;
    expect(stored).toEqual(undisturbedStore);
    // A saved result is not said again: the text of an attempt whose owner had to stop is cut where it stopped, and its item is whole.
    for (const [step, text] of Object.entries(texts)) expect(said[step]?.startsWith(text)).toBe(true);
    if (cell.disturbance === 'cut' || cell.disturbance === 'lost wake') expect(texts).toEqual(said);
    expect(outcome.unknown).toEqual([]);
  });
});
