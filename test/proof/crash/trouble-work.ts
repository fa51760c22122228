import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { CallSafety, CallTokens, CallUsage, Reconciled, SendContext } from '@engine/calls.js';
import { childIdOf, childrenEnded, type NewChild } from '@engine/child.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { askOutside, usage, type Answer } from './matrix-work.js';

export type TroubleCursor = { readonly done: number; readonly ended: number; readonly outside: string };
export const troubleWorkflow = { workflow: 'matrix-trouble', version: 1 } as const;
const queueing = { workflow: 'matrix-queueing', version: 1 } as const;
const endless = { workflow: 'matrix-endless', version: 1 } as const;

type Trouble = { readonly name: string; readonly safety: CallSafety; readonly tokens?: CallTokens<Answer> };

/** By step: an answer that breaks and is asked for, a call that no bucket can let out, one whose sender loses the work while it is outside. */
export const troubleOfStep: Readonly<Record<number, Trouble>> = {
  1: { name: 'parcel', safety: 'reconcilable' },
  2: { name: 'too-much', safety: 'repeatable', tokens: { bucket: 'small', amount: 2, capacity: 1, refillPerSecond: 1 } },
  3: { name: 'late-letter', safety: 'unproven' },
};
/** Whose sender is to lose the work. */
export const lateStep = 3;
const lastCall = 3;
const familyStep = 4;
const queueLength = 2;
/** What an owner that went has sent is outside for so long at the most. */
const slotTimeoutMs = 2_000;

/** A thing that closes at the second try, in whatever process it was opened. */
function stubborn() {
  let tried = false;
  return {
    open: () => Promise.resolve('open'),
    close: async () => {
      if (tried) return;
      tried = true;
      throw new Error('the thing does not close');
    },
    proveReleased: () => Promise.resolve(true),
  };
}

export class TroublePhase {
  constructor(
    readonly run: PhaseRun<TroubleCursor>,
    readonly args: { readonly step: number },
  ) {}
}

/** One outside call with its trouble, and a row. The second holds something that does not close at once. */
@CommandHandler(TroublePhase)
export class TroubleHandler implements ICommandHandler<TroublePhase> {
  async execute({ run, args: { step } }: TroublePhase) {
    const { cursor, id, subjectId } = run.execution;
    const { name, ...call } = troubleOfStep[step]!;
    if (step === 2) {
      const held = await run.scope.lease({ kind: 'stubborn', name: id }, stubborn());
      if (!held.ok) throw new Error(`the thing is ${held.failure.state}`);
    }
    const reconcile = ({ providerKey, signal }: SendContext): Promise<Reconciled<Answer>> => askOutside(cursor.outside, { asks: providerKey, execution: id, step, name }, signal);
    const spec = { step, name, kind: 'proof', usage: (): CallUsage => usage, ...call, ...(call.safety === 'reconcilable' ? { reconcile } : {}) };
    const outcome = await run.call<Answer>(spec, ({ attempt, providerKey, signal }) =>
      askOutside<Answer>(cursor.outside, { execution: id, step, name, attempt, key: providerKey }, signal),
    );
    if (outcome.kind !== (call.tokens ? 'not-passed' : 'result')) throw new Error(`the call came back as ${outcome.kind}`);
    if (outcome.kind === 'result') run.emit({ _tag: 'ToolResult', step, callId: outcome.result.said, status: 'completed' });
    run.finish({ ...cursor, done: step }, { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: step } });
  }
}

export class FamilyPhase {
  constructor(readonly run: PhaseRun<TroubleCursor>) {}
}

/** Two that want the one place of a limit, and one that never ends by itself. */
@CommandHandler(FamilyPhase)
export class FamilyHandler implements ICommandHandler<FamilyPhase> {
  async execute({ run }: FamilyPhase) {
    const { cursor, id, subjectId } = run.execution;
    const childOf = (name: string, kind: typeof queueing | typeof endless, more: object): NewChild => ({
      id: childIdOf(id, name),
      attached: true,
      ...kind,
      cursor: { ...cursor, done: 0, ...more },
      subjectId,
      identityId: null,
    });
    const queue = Array.from({ length: queueLength }, (_, index) => childOf(`queueing ${index}`, queueing, { limit: id }));
    await run.commit({ ...cursor, done: familyStep }, undefined, [...queue, childOf('endless', endless, {})]);
  }
}

export class CountPhase {
  constructor(readonly run: PhaseRun<TroubleCursor>) {}
}

@CommandHandler(CountPhase)
export class CountHandler implements ICommandHandler<CountPhase> {
  async execute({ run }: CountPhase) {
    const { cursor } = run.execution;
    run.finish({ ...cursor, ended: cursor.ended + childrenEnded(run.wake.signals).length });
  }
}

@Injectable()
@Workflow(troubleWorkflow.workflow, { version: troubleWorkflow.version })
export class TroubleSaga implements Saga<TroubleCursor> {
  /** Its end stops what is below it. */
  next({ cursor }: Stored<TroubleCursor>, wake: Wake): Next {
    if (cursor.done < lastCall) return phase(TroublePhase, { step: cursor.done + 1 });
    if (cursor.done < familyStep) return phase(FamilyPhase);
    if (wake.signals.length > 0) return phase(CountPhase);
    return cursor.ended < queueLength ? wait() : end('interrupted');
  }
}

export type QueueingCursor = TroubleCursor & { readonly limit: string };

export class QueueingPhase {
  constructor(readonly run: PhaseRun<QueueingCursor>) {}
}

@CommandHandler(QueueingPhase)
export class QueueingHandler implements ICommandHandler<QueueingPhase> {
  async execute({ run }: QueueingPhase) {
    const { cursor, id, subjectId } = run.execution;
    const spec = { step: 1, name: 'slot', kind: 'proof', safety: 'repeatable', permit: { limit: cursor.limit, size: 1 }, timeoutMs: slotTimeoutMs } as const;
    const outcome = await run.call(spec, ({ attempt, providerKey, signal }) =>
      askOutside<Answer>(cursor.outside, { execution: id, step: 1, name: 'read', attempt, key: providerKey, crowd: cursor.limit }, signal),
    );
    if (outcome.kind !== 'result') throw new Error(`the call in a limit came back as ${outcome.kind}`);
    run.finish({ ...cursor, done: 1 }, { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: 1 } });
  }
}

@Injectable()
@Workflow(queueing.workflow, { version: queueing.version })
export class QueueingSaga implements Saga<QueueingCursor> {
  next({ cursor }: Stored<QueueingCursor>): Next {
    return cursor.done > 0 ? end('completed') : phase(QueueingPhase);
  }
}

@Injectable()
@Workflow(endless.workflow, { version: endless.version })
export class EndlessSaga implements Saga<TroubleCursor> {
  next(): Next {
    return wait();
  }
}

export const troubleParts: Type[] = [TroubleSaga, TroubleHandler, FamilyHandler, CountHandler, QueueingSaga, QueueingHandler, EndlessSaga];
