/** The states of stored work and the moves between them: one table, read by the engine, HTTP and the tests. */
export const endStates = ['completed', 'failed', 'cancelled', 'interrupted'] as const;
export type EndState = (typeof endStates)[number];

export const executionStates = ['queued', 'running', 'waiting', 'cancelling', 'outcome_unknown', ...endStates] as const;
export type ExecutionState = (typeof executionStates)[number];

export const executionMoves: Readonly<Record<ExecutionState, readonly ExecutionState[]>> = {
  queued: ['running', 'cancelling', 'failed'],
  running: ['waiting', 'cancelling', 'outcome_unknown', 'completed', 'failed', 'interrupted'],
  waiting: ['running', 'cancelling'],
  cancelling: ['cancelling', 'cancelled', 'outcome_unknown', 'failed'],
  outcome_unknown: ['outcome_unknown', 'running', 'cancelling'],
  completed: [],
  failed: [],
  cancelled: [],
  interrupted: [],
};

export const hasEnded = (state: ExecutionState): state is EndState => (endStates as readonly string[]).includes(state);
export const mayMove = (from: ExecutionState, to: ExecutionState): boolean => executionMoves[from].includes(to);
