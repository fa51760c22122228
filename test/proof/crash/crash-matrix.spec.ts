import { Lane, type Cell, type Outcome } from './lane.js';
import { openMatrixScenario } from './matrix-scenario.js';
import { workPoints } from './matrix-points.js';
import { cellsOf, nameOf, printTable } from './matrix-table.js';
import { callOfStep } from './matrix-work.js';
import { startOutside, type Outside } from './outside.js';
import { withDecision, type Portrait } from './portrait.js';

const cells = cellsOf(workPoints);
const laneCount = 2;
const callName = ({ step, name }: { readonly step: number; readonly name: string }): string => `${step}:${name}`;

/**
 * A paused process that wakes hands in what it knows: the late result settles an unknown call without the person, or beside what the person said; that
 * nothing was sent lets it be sent.
 */
function expectedOf({ portrait, open, unknown }: Outcome<Portrait>, undisturbed: Portrait): Portrait {
  const decided = unknown.reduce((portrayed, { step, decision }) => withDecision(portrayed, step, decision), undisturbed);
  if (open.length === 0) return decided;
  const settled = unknown.length === 0 && portrait.states.includes('outcome_unknown') ? withDecision(undisturbed, 0, 'retry') : decided;
  return { ...settled, usage: portrait.usage.length === undisturbed.usage.length ? undisturbed.usage : settled.usage };
}

describe('a process that is disturbed at a named point', () => {
  const outcomes = new Map<Cell, Outcome<Portrait> | Error>();
  let outside: Outside;
  let undisturbed: Portrait;

  beforeAll(async () => {
    // Longer than the flush of text: a call is open when its words go out.
    outside = await startOutside(80);
    const waiting = [...cells];
    await Promise.all(
      Array.from({ length: laneCount }, async (_, index) => {
        const lane = await Lane.open(`lane${index + 1}`, await openMatrixScenario(outside));
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
    printTable('the engine with calls of every kind', cells, outcomes);
    await outside.close();
  });

  test('the work itself, undisturbed', () => {
    expect(undisturbed).toMatchObject({
      state: 'completed',
      states: ['queued', 'running', 'waiting', 'running', 'completed'],
      rows: [1, 2, 3, 4, 5, 6],
      children: ['completed 1'],
      leases: 0,
      overbilled: false,
      calls: Object.entries(callOfStep).map(([step, { name }]) => `${step}:${name} succeeded`),
      effects: { '2:charge': 1, '3:letter': 1, '4:order': 1 },
      gapless: true,
    });
    expect(Object.values(undisturbed.words)).toEqual(['one two', 'one two', 'one two', 'one two']);
    expect(undisturbed.usage).toHaveLength(4);
  });

  test.each(cells.map((cell) => [nameOf(cell), cell] as const))('%s', (_, cell) => {
    const outcome = outcomes.get(cell);
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('the cell did not run');
    const { portrait, open, unknown } = outcome;
    // Only a call whose result could be lost, by a process that was gone or had lost its right, may wait for a person.
    const lost = cell.disturbance === 'kill -9' || cell.disturbance === 'SIGSTOP' ? open.map(callName) : [];
    if (cell.disturbance === 'kill -9') expect(unknown.map(callName)).toEqual(lost);
    else expect(lost).toEqual(expect.arrayContaining(unknown.map(callName)));
    const expected = expectedOf(outcome, undisturbed);
    expect({ ...portrait, words: undefined, states: undefined }).toEqual({ ...expected, words: undefined, states: undefined });
    expect(portrait.states).toEqual(expected.states);
    // A result that is handed in late, confirmed by its provider or told by a person is not said again: the words end where their process had to stop.
    const whole = cell.disturbance === 'cut' || cell.disturbance === 'lost wake';
    for (const [step, said] of Object.entries(expected.words)) {
      const words = portrait.words[Number(step)] ?? '';
      expect(whole ? words === said : said.startsWith(words)).toBe(true);
    }
  });
});
