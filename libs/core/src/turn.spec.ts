import fc from 'fast-check';
import { afterModelFailure, afterModelStep, afterReminder, afterToolCall, newTurn, nextOfTurn, type TurnNext, type TurnProgress } from './turn.js';

const at = (progress: Partial<TurnProgress>): TurnProgress => ({ ...newTurn(3), ...progress });

test.each<[rule: string, turn: TurnProgress, reminderDue: boolean, next: TurnNext]>([
  ['a new turn asks the model', at({}), false, { _tag: 'ModelStep', step: 1 }],
  ['open entries alone delay nothing', at({}), true, { _tag: 'ModelStep', step: 1 }],
  ['calls run in order', at({ stepsTaken: 1, last: 'called-tools', calls: 2 }), false, { _tag: 'ToolCall', step: 1, index: 0 }],
  ['the next one after the last settled', at({ stepsTaken: 1, last: 'called-tools', calls: 2, settledCalls: 1 }), true, { _tag: 'ToolCall', step: 1, index: 1 }],
  ['the model reads the results', at({ stepsTaken: 1, last: 'called-tools', calls: 2, settledCalls: 2 }), true, { _tag: 'ModelStep', step: 2 }],
  ['an answer ends the turn', at({ stepsTaken: 1, last: 'answered' }), false, { _tag: 'Finish' }],
  ['an answer with a reminder due does not', at({ stepsTaken: 1, last: 'answered' }), true, { _tag: 'TodoReminder' }],
  ['the model reads the reminder', at({ stepsTaken: 1, last: 'input' }), false, { _tag: 'ModelStep', step: 2 }],
  ['an answer in the last step ends the turn, reminder or not', at({ stepsTaken: 3, last: 'answered' }), true, { _tag: 'Finish' }],
  ['the calls of the last step still run', at({ stepsTaken: 3, last: 'called-tools', calls: 1 }), false, { _tag: 'ToolCall', step: 3, index: 0 }],
  ['and then the turn stops', at({ stepsTaken: 3, last: 'called-tools', calls: 1, settledCalls: 1 }), false, { _tag: 'Stop', reason: 'step-limit' }],
  ['a limit that was lowered stops it too', at({ stepsTaken: 5, last: 'called-tools', calls: 1, settledCalls: 1 }), false, { _tag: 'Stop', reason: 'step-limit' }],
  ['a model that failed for good stops it', at({ stepsTaken: 1, last: 'failed' }), true, { _tag: 'Stop', reason: 'model-failed' }],
])('%s', (_rule, turn, reminderDue, next) => {
  expect(nextOfTurn(turn, { reminderDue })).toEqual(next);
});

test('every turn ends within its limit: each step is taken once, each call once and in order', () => {
  const anyStep = fc.oneof(fc.nat(3), fc.constant('fails' as const));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(anyStep, { minLength: 8, maxLength: 8 }), fc.infiniteStream(fc.boolean()), (limit, script, due) => {
      let turn = newTurn(limit);
      const steps: number[] = [];
      let calls: number[] = [];
      for (let moves = 0; moves < 100; moves += 1) {
        const next = nextOfTurn(turn, { reminderDue: due.next().value });
        if (next._tag === 'ModelStep') {
          expect(calls).toEqual(Array.from({ length: turn.calls }, (_, index) => index));
          calls = [];
          steps.push(next.step);
          const result = script[steps.length - 1]!;
          turn = result === 'fails' ? afterModelFailure(turn) : afterModelStep(turn, result);
        } else if (next._tag === 'ToolCall') {
          expect(next.step).toBe(steps.at(-1));
          calls.push(next.index);
          turn = afterToolCall(turn);
        } else if (next._tag === 'TodoReminder') {
          turn = afterReminder(turn);
        } else {
          expect(steps).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1));
          expect(steps.length).toBeLessThanOrEqual(limit);
          return;
        }
      }
      throw new Error('The turn did not end.');
    }),
  );
});
