import type { SafeFailure } from '@domain/executions/failures.js';
import type { PhaseRun } from '@engine/phase.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { TurnCursor } from './turn-cursor.js';

/** Seals why a turn ends without an answer. The category is for clients to branch on, the cause for the operator alone. */
export const recordFailure = (records: ErrorRecords, run: PhaseRun<TurnCursor>, category: string, cause: unknown): SafeFailure =>
  records.record(cause, { ...run.execution.context, executionId: run.execution.id, category });
