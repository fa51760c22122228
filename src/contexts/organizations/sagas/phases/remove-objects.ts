import { Inject, Logger } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ok } from '@domain/result.js';
import type { PhaseResult, PhaseRun } from '@engine/phase.js';
import { ObjectStore, projectPrefix, type ObjectPage } from '@platform/objects/object-store.js';
import { failedObjectsLimit, saveProgress, type PurgeState } from '../../queries/project-purges.js';
import type { ProjectPurgeCursor } from '../project-purge.js';

const pageSize = 500;
const atOnce = 16;
/** Walks over all that is left before the rows go; each waits longer than the one before. */
const rounds = 3;
const firstPauseMs = 500;
const lastPauseMs = 3_600_000;

export class RemoveObjects {
  constructor(readonly run: PhaseRun<ProjectPurgeCursor>) {}
}

/** Keys that could not be removed. One that is gone already counts as removed. */
async function removeAll(store: ObjectStore, keys: readonly string[], signal: AbortSignal): Promise<string[]> {
  const failed: string[] = [];
  let cause: unknown = null;
  const left = [...keys];
  const remove = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined && !signal.aborted; key = left.pop()) {
      const each = key;
      await store.delete(each).catch((error: unknown) => {
        failed.push(each);
        cause = error;
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, remove));
  signal.throwIfAborted();
  if (failed.length > 0) {
    const { name, code } = cause as { name?: string; code?: unknown };
    new Logger(RemoveObjects.name).warn({ event: 'objects were not removed', count: failed.length, type: name, ...(typeof code === 'string' ? { code } : {}) });
  }
  return failed;
}

/** One page of the objects under the project's prefix. Both calls change nothing when they come twice, and their results are saved, so that each object counts once. */
@CommandHandler(RemoveObjects)
export class RemoveObjectsHandler implements ICommandHandler<RemoveObjects> {
  constructor(@Inject(ObjectStore) private readonly store: ObjectStore | null) {}

  async execute({ run }: RemoveObjects): PhaseResult {
    const { execution, wake } = run;
    const { cursor } = execution;
    const { store } = this;
    const now = wake.now.getTime();
    const step = cursor.page + 1;
    if (!store) {
      run.finish({ ...cursor, stage: 'rows', nextAt: null });
      return ok(undefined);
    }
    const prefix = projectPrefix({ organizationId: execution.context.organizationId, projectId: cursor.projectId });
    const outside = { step, kind: 'objects', safety: 'repeatable' } as const;
    const listed = await run.call<ObjectPage>({ ...outside, name: 'list' }, () => store.list(prefix, { after: cursor.after, limit: pageSize }));
    // Without a list nobody knows what is there: the same page is asked for until it comes.
    if (listed.kind !== 'result') {
      run.finish({ ...cursor, page: step, nextAt: now + pauseMs(cursor.round + 1) });
      return ok(undefined);
    }
    const { keys, next } = listed.result;
    const deleted = keys.length === 0 ? null : await run.call<string[]>({ ...outside, name: 'delete' }, ({ signal }) => removeAll(store, keys, signal));
    const failed = deleted === null ? [] : deleted.kind === 'result' ? deleted.result : keys;
    const before = cursor.after === null ? none : cursor.failures;
    const failures = { count: before.count + failed.length, some: [...before.some, ...failed].slice(0, failedObjectsLimit) };
    const walked = { ...cursor, page: step, after: next, failures, nextAt: null };
    const then = next === null ? afterWalk(walked, now) : walked;
    await run.transact(then, {}, async (tx) => {
      const state = then.stage === 'done' ? 'completed' : stateOf(cursor);
      await saveProgress(tx, cursor.projectId, { state, objectsRemoved: keys.length - failed.length, ...(next === null ? { failures } : {}) });
    });
    return ok(undefined);
  }
}

const none = { count: 0, some: [] };
const pauseMs = (round: number): number => Math.min(lastPauseMs, firstPauseMs * 2 ** round);
const stateOf = ({ stage }: ProjectPurgeCursor): PurgeState => (stage === 'leftovers' ? 'leftovers' : 'objects');

/** What failed is tried again a few times before the rows go; afterwards for as long as it takes. */
function afterWalk(cursor: ProjectPurgeCursor, now: number): ProjectPurgeCursor {
  const round = cursor.round + 1;
  const isClean = cursor.failures.count === 0;
  if (cursor.stage === 'objects' && (isClean || round >= rounds)) return { ...cursor, round, stage: 'rows' };
  return isClean ? { ...cursor, round, stage: 'done' } : { ...cursor, round, nextAt: now + pauseMs(round) };
}
