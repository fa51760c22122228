import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { CallSafety, CallUsage } from '@engine/calls.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';

export type MatrixCursor = { readonly done: number; readonly outside: string };
export const matrixWorkflow = { workflow: 'matrix', version: 1 } as const;

/** What the work does outside, by step. A read may be repeated, a charge has a key, a letter is gone once it was sent. */
export const callOfStep: Readonly<Record<number, { readonly name: string; readonly safety: CallSafety }>> = {
  1: { name: 'read', safety: 'repeatable' },
  2: { name: 'charge', safety: 'keyed' },
  3: { name: 'letter', safety: 'unproven' },
};
/** After the calls it waits for this signal; then one transaction that decides, and the end. */
export const goOn = 'go-on';
const decidingStep = 4;
const lastRow = 5;

const usage: CallUsage = {
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

export class CallPhase {
  constructor(
    readonly run: PhaseRun<MatrixCursor>,
    readonly args: { readonly step: number },
  ) {}
}

/** One outside call that says words while it runs; its answer and a feature's row in one commit. */
@CommandHandler(CallPhase)
export class CallHandler implements ICommandHandler<CallPhase> {
  async execute({ run, args: { step } }: CallPhase) {
    const { cursor, id, subjectId } = run.execution;
    const { name, safety } = callOfStep[step]!;
    const outcome = await run.call({ step, name, kind: 'proof', safety, usage: () => usage, lostUsage }, async ({ attempt, providerKey, signal }) => {
      const answer = fetch(cursor.outside, { method: 'POST', body: JSON.stringify({ execution: id, step, name, attempt, key: providerKey }), signal });
      run.emit({ _tag: 'Reasoning', step, attempt, delta: 'one ' }, { _tag: 'Reasoning', step, attempt, delta: 'two' });
      return (await (await answer).json()) as { said: string };
    });
    if (outcome.kind !== 'result') throw new Error(`the call came back as ${outcome.kind}`);
    run.emit({ _tag: 'Text', step, attempt: outcome.attempt, delta: outcome.result.said });
    run.finish({ ...cursor, done: step }, { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: step } });
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
    if (cursor.done < 3) return phase(CallPhase, { step: cursor.done + 1 });
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

export const matrixParts: Type[] = [MatrixSaga, CallHandler, DecideHandler];
