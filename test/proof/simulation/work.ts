import { sendSignal } from '@engine/executions.js';
import type { CallSafety, CallSpec, CallUsage } from '@engine/calls.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, type Next, type Outcome, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { Workflows } from '@engine/workflows.js';
import type { Outside } from './outside.js';
import type { SimulatedProcess } from './virtual-time.js';

export type Step = {
  readonly safety: CallSafety;
  readonly last: 'commit' | 'finish' | 'transact';
  readonly text: boolean;
  /** A place in the limit of its organization, or tokens of its bucket. */
  readonly limited: 'permit' | 'tokens' | null;
  /** Holds the thing of its project meanwhile, where nobody else does. */
  readonly holds: boolean;
  readonly children: readonly { readonly attached: boolean; readonly workflow: string }[];
};
/** What one execution is to do, and how far it is. */
export type Cursor = {
  readonly done: number;
  readonly heard: number;
  readonly timed: boolean;
  readonly steps: readonly Step[];
  readonly signals: number;
  readonly timer: boolean;
  readonly friend: string | null;
};
export type Run = PhaseRun<Cursor>;

const usage: CallUsage = {
  provider: 'outside',
  model: 'outside',
  source: 'reply',
  status: 'confirmed',
  inputTokens: 1,
  outputTokens: 1,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  estimatedInputTokens: null,
};
const lostUsage: CallUsage = { ...usage, status: 'unknown', inputTokens: null, outputTokens: null };

/** Where work is done: in this process, with this world outside. */
export type Place = { readonly outside: Outside; readonly process: SimulatedProcess };

const permit = { limit: 'narrow', size: 1 };
/** By the database's clock: over when two hours pass. */
const callTimeoutMs = 3_600_000;
const tokens = { bucket: 'small', amount: 1, capacity: 1, refillPerSecond: 1 / 1_000 };

export const endNumber = 1_000;

/** A child's id lies in its world, and is the same whenever the phase runs again. */
const childId = (parentId: string, step: number, index: number): string => {
  const number = parseInt(parentId.slice(24), 16) * 0x100 + step * 0x10 + index;
  return parentId.slice(0, 24) + number.toString(16).padStart(12, '0');
};
const childCursor: Cursor = {
  done: 0,
  heard: 0,
  timed: false,
  steps: [{ safety: 'unproven', last: 'commit', text: false, limited: null, holds: false, children: [] }],
  signals: 0,
  timer: false,
  friend: null,
};

/** A step: one outside call, then its row by the path that the plan says. */
class TakeStep {
  constructor(
    readonly run: Run,
    readonly place: Place,
  ) {}

  async perform(): Promise<void> {
    const { run } = this;
    const { outside, process } = this.place;
    const { cursor, context, id, subjectId } = run.execution;
    const step = cursor.done + 1;
    const { safety, last, text, limited, holds, children } = cursor.steps[cursor.done]!;
    if (text) run.emit({ _tag: 'Text', step, attempt: 1, delta: 'text' });
    if (holds) await run.scope.lease({ kind: 'thing', name: 'the one' }, outside.thing(process, `the one of ${context.projectId}`));
    const spec: CallSpec<{ readonly value: number }> = {
      ...{ step, name: 'tool', kind: 'tool', safety, lostUsage, usage: () => usage },
      ...(limited === 'permit' ? { permit, timeoutMs: callTimeoutMs } : {}),
      ...(limited === 'tokens' ? { tokens } : {}),
      ...(safety === 'reconcilable' ? { reconcile: () => outside.ask({ execution: id, step }) } : {}),
    };
    const limit = limited === 'permit' ? { name: `${permit.limit} of ${context.organizationId}`, size: permit.size } : null;
    await run.call(spec, ({ attempt }) => outside.receive({ execution: id, step, attempt, safety }, limit));
    run.emit({ _tag: 'ToolResult', step, callId: `${step}`, status: 'completed' });
    const after = { ...cursor, done: step };
    const rows = { feature: 'probe', aggregateId: subjectId ?? '', rows: { number: step } };
    const born = children.map((child, index) => ({ ...child, id: childId(id, step, index), version: 1, cursor: childCursor, subjectId, identityId: null }));
    if (last === 'finish') return run.finish(after, rows, born);
    if (last === 'commit') return run.commit(after, rows, born);
    const heads = cursor.friend ? [cursor.friend] : [];
    await run.transact(after, { aggregates: [{ feature: 'probe', id: subjectId ?? '' }], heads: async () => heads }, async (tx) => {
      await writeRow(tx, id, subjectId, step);
      for (const child of born) await run.admit(tx, child);
      if (cursor.friend) await sendSignal(tx, cursor.friend, { name: 'poke' });
    });
  }
}

class Hear {
  constructor(readonly run: Run) {}

  async perform(): Promise<void> {
    const { cursor } = this.run.execution;
    await this.run.commit({ ...cursor, heard: cursor.heard + this.run.wake.signals.filter(({ name }) => name === 'go').length });
  }
}

class Due {
  constructor(readonly run: Run) {}

  async perform(): Promise<void> {
    await this.run.commit({ ...this.run.execution.cursor, timed: true });
  }
}

const writeRow = (tx: Tx, id: string, subjectId: string | null, number: number): Promise<unknown> =>
  tx.query(`select feature_rows_probe(x, $2, jsonb_build_object('number', $3::int)) from execution x where x.id = $1`, [id, subjectId, number]);

class WorkSaga implements Saga<Cursor> {
  constructor(readonly place: Place) {}

  next({ cursor }: Stored<Cursor>, wake: Wake): Next {
    if (wake.signals.length > 0) return phase(Hear);
    if (cursor.done < cursor.steps.length) return phase(TakeStep, this.place);
    if (cursor.timer && !cursor.timed) return wake.due ? phase(Due) : wait({ until: new Date(wake.now.getTime() + 3_600_000) });
    if (cursor.heard < cursor.signals) return wait();
    return end('completed');
  }
}

/** Also writes at its end, in a transaction that holds its aggregate and its friend's head. */
class ClosingSaga extends WorkSaga {
  aggregates({ subjectId }: Stored<Cursor>) {
    return [{ feature: 'probe', id: subjectId ?? '' }];
  }

  async heads(_: Tx, { cursor }: Stored<Cursor>): Promise<readonly string[]> {
    return cursor.friend ? [cursor.friend] : [];
  }

  async end(tx: Tx, { id, subjectId, cursor }: Stored<Cursor>, _: Outcome): Promise<void> {
    await writeRow(tx, id, subjectId, endNumber);
    if (cursor.friend) await sendSignal(tx, cursor.friend, { name: 'poke' });
  }
}

export function simulatedWorkflows(place: Place): Workflows {
  const workflows = new Workflows();
  workflows.register({ name: 'work', version: 1 }, new WorkSaga(place) as Saga<object>);
  workflows.register({ name: 'closing', version: 1 }, new ClosingSaga(place) as Saga<object>);
  return workflows;
}
