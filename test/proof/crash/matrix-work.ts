import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { CallPermit, CallSafety, CallUsage, Reconciled, SendContext } from '@engine/calls.js';
import { childIdOf, type NewChild } from '@engine/child.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';

export type MatrixCursor = { readonly done: number; readonly outside: string };
export const matrixWorkflow = { workflow: 'matrix', version: 1 } as const;

export const childWorkflow = { workflow: 'matrix-child', version: 1 } as const;

/** What the work does outside, by step. A read may be repeated, a charge has a key, a letter is gone once it was sent, an order can be asked for. */
export const callOfStep: Readonly<Record<number, { readonly name: string; readonly safety: CallSafety; readonly permit?: CallPermit }>> = {
  1: { name: 'read', safety: 'repeatable' },
  2: { name: 'charge', safety: 'keyed', permit: { limit: 'bank', size: 1_000 } },
  3: { name: 'letter', safety: 'unproven' },
  4: { name: 'order', safety: 'reconcilable' },
};
const lastCall = 4;
/** After the calls it waits for this signal; then one transaction that decides, and the end. */
export const goOn = 'go-on';
const decidingStep = 5;
const lastRow = 6;

export const usage: CallUsage = {
  provider: 'outside',
  model: 'outside',
  source: 'proof',
  status: 'confirmed',
  inputTokens: 3,
  outputTokens: 2,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  estimatedInputTokens: null,
};
const lostUsage: CallUsage = { ...usage, status: 'unknown', inputTokens: null, outputTokens: null };

export type Answer = { readonly said: string };

export class CallPhase {
  constructor(
    readonly run: PhaseRun<MatrixCursor>,
    readonly args: { readonly step: number },
  ) {}
}

export const askOutside = async <T>(outside: string, body: object, signal: AbortSignal): Promise<T> =>
  (await (await fetch(outside, { method: 'POST', body: JSON.stringify(body), signal })).json()) as T;

/** A thing that is gone with its process. */
const session = { open: () => Promise.resolve('open'), close: () => Promise.resolve(), proveReleased: () => Promise.resolve(true) };

/** One outside call that says words while it runs; its answer and a feature's row in one commit. The first holds something meanwhile, the last leaves a child. */
@CommandHandler(CallPhase)
export class CallHandler implements ICommandHandler<CallPhase> {
  async execute({ run, args: { step } }: CallPhase) {
    const { cursor, id, subjectId } = run.execution;
    const { name, ...call } = callOfStep[step]!;
    if (step === 1) {
      const held = await run.scope.lease({ kind: 'session', name: id }, session);
      if (!held.ok) throw new Error(`the session is ${held.failure.state}`);
    }
    const reconcile = ({ providerKey, signal }: SendContext): Promise<Reconciled<Answer>> => askOutside(cursor.outside, { asks: providerKey, execution: id, step, name }, signal);
    const spec = { step, name, kind: 'proof', usage: () => usage, lostUsage, ...call, ...(call.safety === 'reconcilable' ? { reconcile } : {}) };
    const outcome = await run.call<Answer>(spec, async ({ attempt, providerKey, signal }) => {
      const answer = askOutside<Answer>(cursor.outside, { execution: id, step, name, attempt, key: providerKey }, signal);
      run.emit({ _tag: 'Reasoning', step, attempt, delta: 'one ' }, { _tag: 'Reasoning', step, attempt, delta: 'two' });
      return answer;
    });
    if (outcome.kind !== 'result') throw new Error(`the call came back as ${outcome.kind}`);
    // Text is published as it comes, and may be said again by who follows; a result goes with its commit, once.
    run.emit({ _tag: 'ToolResult', step, callId: outcome.result.said, status: 'completed' });
    const child: NewChild = { id: childIdOf(id, 'child'), attached: true, ...childWorkflow, cursor: { ...cursor, done: 0 }, subjectId, identityId: null };
    run.finish({ ...cursor, done: step }, { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: step } }, step === lastCall ? [child] : []);
  }
}

export class DecidePhase {
  constructor(readonly run: PhaseRun<MatrixCursor>) {}
}

/** Reads what is there and writes what follows from it, under its locks. */
@CommandHandler(DecidePhase)
export class DecideHandler implements ICommandHandler<DecidePhase> {
  async execute({ run }: DecidePhase) {
    const { cursor, id, subjectId } = run.execution;
    await run.transact({ ...cursor, done: decidingStep }, { aggregates: [{ feature: 'probe', id: subjectId ?? '' }] }, async (tx) => {
      const [row] = (await tx.query(`select count(*)::int as rows from probe_row where execution_id = $1`, [id])) as { rows: number }[];
      await tx.query(`select feature_rows_probe(head, $2, $3::jsonb) from execution head where head.id = $1`, [id, subjectId, { number: (row?.rows ?? 0) + 1 }]);
    });
  }
}

@Injectable()
@Workflow(matrixWorkflow.workflow, { version: matrixWorkflow.version })
export class MatrixSaga implements Saga<MatrixCursor> {
  next({ cursor }: Stored<MatrixCursor>, wake: Wake): Next {
    if (cursor.done < lastCall) return phase(CallPhase, { step: cursor.done + 1 });
    if (cursor.done >= decidingStep) return end('completed');
    return wake.signals.some(({ name }) => name === goOn) ? phase(DecidePhase) : wait();
  }

  aggregates({ subjectId }: Stored<MatrixCursor>) {
    return [{ feature: 'probe', id: subjectId ?? '' }];
  }

  async end(tx: Tx, { id, subjectId }: Stored<MatrixCursor>): Promise<void> {
    await tx.query(`select feature_rows_probe(head, $2, $3::jsonb) from execution head where head.id = $1`, [id, subjectId, { number: lastRow }]);
  }
}

export class ChildPhase {
  constructor(readonly run: PhaseRun<MatrixCursor>) {}
}

@CommandHandler(ChildPhase)
export class ChildHandler implements ICommandHandler<ChildPhase> {
  async execute({ run }: ChildPhase) {
    const { cursor, id } = run.execution;
    const request = { execution: id, step: 1, name: 'read', attempt: 1, key: '' };
    const outcome = await run.call({ step: 1, name: 'read', kind: 'proof', safety: 'repeatable' }, ({ signal }) => askOutside<Answer>(cursor.outside, request, signal));
    if (outcome.kind !== 'result') throw new Error(`the child's call came back as ${outcome.kind}`);
    run.finish({ ...cursor, done: 1 });
  }
}

/** Its end writes a row of its own: the notice that its parent waits for. */
@Injectable()
@Workflow(childWorkflow.workflow, { version: childWorkflow.version })
export class ChildSaga implements Saga<MatrixCursor> {
  next({ cursor }: Stored<MatrixCursor>): Next {
    return cursor.done > 0 ? end('completed') : phase(ChildPhase);
  }

  aggregates({ subjectId }: Stored<MatrixCursor>) {
    return [{ feature: 'probe', id: subjectId ?? '' }];
  }

  async end(tx: Tx, { id, subjectId }: Stored<MatrixCursor>): Promise<void> {
    await tx.query(`select feature_rows_probe(head, $2, $3::jsonb) from execution head where head.id = $1`, [id, subjectId, { number: 1 }]);
  }
}

export const matrixParts: Type[] = [MatrixSaga, CallHandler, DecideHandler, ChildSaga, ChildHandler];
