import type { PhaseRun } from '@engine/phase.js';
import { isRefusedStatement } from '@engine/storage-errors.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { ProjectPurgeCursor } from './project-purge.js';

const pauseMs = 60_000;

/**
 * A statement that the database refuses ends no purge: half a project would be left, and nobody could ask for the rest. Its cause is kept, and all tables are
 * walked again after a minute; the doctor names a purge that makes no step.
 */
export async function patiently(run: PhaseRun<ProjectPurgeCursor>, records: ErrorRecords, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!isRefusedStatement(error)) throw error;
    const { id, context, cursor } = run.execution;
    records.record(error, { ...context, executionId: id });
    run.finish({ ...cursor, stage: 'rows', tables: null, fromPage: 0, nextAt: run.wake.now.getTime() + pauseMs });
  }
}
