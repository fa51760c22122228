import { appendFileSync } from 'node:fs';
import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { CallSafety, CallSpec, CallUsage, Reconciled } from '@engine/calls.js';
import { Hook, hookSteps, type HookMoment, type WorkflowHook } from '@engine/hooks.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { familyHandlers, familySaga } from '../../integration/engine/family-feature.js';
import { LeaseHandler, leaseSaga } from '../../integration/engine/lease-feature.js';

export type CrashCursor = {
  readonly steps: number;
  readonly done: number;
  readonly safety: CallSafety;
  readonly outside: string;
  readonly onUnknown?: 'stop' | 'retry';
  /** The shared limit of its calls, and the time of one. */
  readonly limit?: { readonly name: string; readonly size: number; readonly timeoutMs: number };
  readonly raisedFrom?: number;
};
type Said = { readonly said: string };
export type PoisonCursor = { readonly diary: string };

const usage: CallUsage = {
  provider: 'outside',
  model: 'outside',
  source: 'test',
  status: 'confirmed',
  inputTokens: 1,
  outputTokens: 1,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  estimatedInputTokens: null,
};
const lostUsage: CallUsage = { ...usage, status: 'unknown', inputTokens: null, outputTokens: null };

export class OutsidePhase {
  constructor(
    readonly run: PhaseRun<CrashCursor>,
    readonly args: { n: number },
  ) {}
}

/** One step: a call that says two words while it runs, its answer in the log, and a feature's row. */
@CommandHandler(OutsidePhase)
export class OutsideHandler implements ICommandHandler<OutsidePhase> {
  async execute({ run, args: { n } }: OutsidePhase) {
    const { cursor, id, subjectId } = run.execution;
    const spec: CallSpec<Said> = {
      step: n,
      name: 'call',
      kind: 'test',
      safety: cursor.safety,
      usage: () => usage,
      lostUsage,
      onUnknown: cursor.onUnknown ?? 'ask',
      ...(cursor.limit ? { permit: { limit: cursor.limit.name, size: cursor.limit.size }, timeoutMs: cursor.limit.timeoutMs } : {}),
      reconcile: async ({ providerKey, signal }) => (await (await fetch(`${cursor.outside}?key=${providerKey}`, { signal })).json()) as Reconciled<Said>,
    };
    const outcome = await run.call(spec, async ({ attempt, providerKey, signal }) => {
      const answer = fetch(cursor.outside, { method: 'POST', body: JSON.stringify({ execution: id, step: n, attempt, key: providerKey }), signal });
      run.emit({ _tag: 'Reasoning', step: n, attempt, delta: 'one ' }, { _tag: 'Reasoning', step: n, attempt, delta: 'two' });
      return (await (await answer).json()) as Said;
    });
    if (outcome.kind === 'failed') throw new Error(`the outside failed ${outcome.failure.errorId}`);
    run.emit({ _tag: 'Text', step: n, attempt: outcome.attempt, delta: outcome.kind === 'result' ? outcome.result.said : 'nothing' });
    run.finish({ ...cursor, done: n }, { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: n } });
  }
}

export class PoisonPhase {
  constructor(readonly run: PhaseRun<PoisonCursor>) {}
}

/** Who else is at work when the poison takes effect: the process that serves the phases says it. */
export const running: { count: () => number } = { count: () => 0 };

@CommandHandler(PoisonPhase)
export class PoisonHandler implements ICommandHandler<PoisonPhase> {
  async execute({ run }: PoisonPhase) {
    // Each time its opened call is stored before it kills: what was begun alone proves no progress.
    await run.call({ step: 1, name: 'call', kind: 'test', safety: 'repeatable' }, async () => {
      appendFileSync(run.execution.cursor.diary, `${running.count()}\n`);
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => undefined);
    });
  }
}

@Workflow('poison', { version: 1 })
@Injectable()
export class PoisonSaga implements Saga<PoisonCursor> {
  next(): Next {
    return phase(PoisonPhase);
  }
}

/** The same saga under a name of its own, so that a process can be given one execution and no other. Version 2 reads version 1. */
export function crashSaga(name: string, version = 1): Type {
  @Workflow(name, { version, reads: version > 1 ? [version - 1] : [] })
  @Injectable()
  class CrashSaga implements Saga<CrashCursor> {
    next({ cursor }: Stored<CrashCursor>): Next {
      return cursor.done >= cursor.steps ? end('completed') : phase(OutsidePhase, { n: cursor.done + 1 });
    }
    upgrade(cursor: object, from: number): CrashCursor {
      return { ...(cursor as CrashCursor), raisedFrom: from };
    }
    aggregates({ subjectId }: Stored<CrashCursor>) {
      return [{ feature: 'probe', id: subjectId ?? '' }];
    }
    async end(tx: Tx, { id, context, cursor }: Stored<CrashCursor>): Promise<void> {
      const row = [id, context.organizationId, context.projectId, cursor.steps + 1];
      await tx.query('insert into probe_row (execution_id, organization_id, project_id, number) values ($1, $2, $3, $4)', row);
    }
  }
  return CrashSaga;
}

/** Notes every named step of a workflow, beside one that fails at each. */
function hooksOf(workflow: string): Type[] {
  @Hook(`${workflow}-steps`, { workflow, at: hookSteps })
  @Injectable()
  class StepNotes implements WorkflowHook {
    note({ state }: HookMoment): object {
      return { state };
    }
  }
  @Hook(`${workflow}-broken`, { workflow, at: hookSteps })
  @Injectable()
  class BrokenHook implements WorkflowHook {
    note(): object | null {
      throw new Error('a hook that fails');
    }
  }
  return [StepNotes, BrokenHook];
}

/** `name`, `name@2` for the build after it, `name+hooks`. */
function partsOfOne(text: string): Type[] {
  if (text === 'poison') return [PoisonSaga];
  if (text.startsWith('family')) return [familySaga(text)];
  if (text.startsWith('lease')) return [leaseSaga(text)];
  const [, name = text, version, hooks] = /^([^@+]+)(?:@(\d+))?(\+hooks)?$/.exec(text) ?? [];
  return [crashSaga(name, Number(version ?? 1)), ...(hooks ? hooksOf(name) : [])];
}

export const partsOf = (workflows: readonly string[]): Type[] => [OutsideHandler, PoisonHandler, LeaseHandler, ...familyHandlers, ...workflows.flatMap(partsOfOne)];
