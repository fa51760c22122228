import type { CursorAhead, ExecutionNotFound } from '@domain/executions/failures.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { CancelExecutionFailure } from '../commands/cancel-execution.command.js';
import type { DecideCallFailure } from '../commands/decide-call.command.js';

const executionNotFound = { status: 404, message: 'You have no execution with this ID.' };
const keyConflict = { status: 409, message: 'This command key was used with another input.' };

export const readExecutionProblems = { ExecutionNotFound: executionNotFound } satisfies ProblemTable<ExecutionNotFound>;

export type ReadEventsFailure = ExecutionNotFound | CursorAhead;
export const readEventsProblems = {
  ExecutionNotFound: executionNotFound,
  CursorAhead: { status: 409, message: 'The log has no event with this sequence. Read on after the sequence that is named here.' },
} satisfies ProblemTable<ReadEventsFailure>;

export const cancelExecutionProblems = { ExecutionNotFound: executionNotFound, ExecutionKeyConflict: keyConflict } satisfies ProblemTable<CancelExecutionFailure>;

export const decideCallProblems = {
  ExecutionNotFound: executionNotFound,
  CallNotFound: { status: 404, message: 'The execution has no such call.' },
  CallConflict: { status: 409, message: 'This call waits for no decision.' },
  ExecutionKeyConflict: keyConflict,
} satisfies ProblemTable<DecideCallFailure>;
