/** How far a turn is: small counters that a host may keep in memory or save between steps. */
export type TurnProgress = {
  /** Finished model steps. The next one is `stepsTaken + 1`. */
  readonly stepsTaken: number;
  readonly stepLimit: number;
  /** Calls of the last model step, and how many of them have their output. Outputs come in the order of the calls. */
  readonly calls: number;
  readonly settledCalls: number;
  /** What happened last; `input` is a new turn or a notice that the model has not read. */
  readonly last: 'input' | 'answered' | 'called-tools' | 'failed';
};

/** Why a turn ends without an answer. */
export type StopReason = 'step-limit' | 'model-failed';

export type TurnNext =
  | { readonly _tag: 'ModelStep'; readonly step: number }
  | { readonly _tag: 'ToolCall'; readonly step: number; readonly index: number }
  | { readonly _tag: 'TodoReminder' }
  | { readonly _tag: 'Finish' }
  | { readonly _tag: 'Stop'; readonly reason: StopReason };

export const newTurn = (stepLimit: number): TurnProgress => ({ stepsTaken: 0, stepLimit, calls: 0, settledCalls: 0, last: 'input' });

export const afterModelStep = (turn: TurnProgress, calls: number): TurnProgress => ({
  ...turn,
  stepsTaken: turn.stepsTaken + 1,
  calls,
  settledCalls: 0,
  last: calls > 0 ? 'called-tools' : 'answered',
});
export const afterToolCall = (turn: TurnProgress): TurnProgress => ({ ...turn, settledCalls: turn.settledCalls + 1 });
export const afterReminder = (turn: TurnProgress): TurnProgress => ({ ...turn, last: 'input' });
export const afterModelFailure = (turn: TurnProgress): TurnProgress => ({ ...turn, last: 'failed' });

/**
 * What comes next in a turn. The calls of the last allowed step still run: the next turn reads their results. A reminder needs a step
 * in which the model can act on it, so an answer in the last step ends the turn as it is.
 */
export function nextOfTurn(turn: TurnProgress, todos: { readonly reminderDue: boolean }): TurnNext {
  const stepsLeft = turn.stepsTaken < turn.stepLimit;
  if (turn.last === 'failed') return { _tag: 'Stop', reason: 'model-failed' };
  if (turn.last === 'called-tools' && turn.settledCalls < turn.calls) return { _tag: 'ToolCall', step: turn.stepsTaken, index: turn.settledCalls };
  if (turn.last === 'answered') return todos.reminderDue && stepsLeft ? { _tag: 'TodoReminder' } : { _tag: 'Finish' };
  return stepsLeft ? { _tag: 'ModelStep', step: turn.stepsTaken + 1 } : { _tag: 'Stop', reason: 'step-limit' };
}
