import type { ExecutionEventBody } from '@domain/executions/events.js';
import { admitExecution } from './admit.js';
import type { CallLog } from './call-log.js';
import type { CallOutcome, CallSpec, SendContext } from './calls.js';
import type { NewChild } from './child.js';
import type { Change, ExecutionWriter } from './execution-writer.js';
import type { Gate } from './gate.js';
import { toStored } from './head.js';
import type { FeatureRows, Locks, PhaseRun } from './phase.js';
import type { Signal, Stored, Wake } from './saga.js';
import type { PhaseScope } from './scope.js';
import type { Tx } from './tx.js';

export type RunParts = {
  readonly wake: Wake;
  readonly gate: Gate;
  readonly scope: PhaseScope;
  readonly kept: Map<string, unknown>;
  readonly writer: ExecutionWriter;
  readonly calls: CallLog;
  /** The signals that the phase was chosen with: its first commit consumes them. */
  readonly takeSignals: () => readonly Signal[];
  readonly onLocked: (heads: readonly string[]) => void;
};

/** The run that one phase gets. Closed when the phase ends: a late use of it throws and starts nothing. */
export class OpenRun implements PhaseRun<object> {
  /** Whether the phase saved or finished anything: one that did not would be asked for again for ever. */
  wrote = false;
  /** The phase's last change; the fiber hands it on once the phase's resources are closed. */
  finished: Change | null = null;
  private closed = false;
  /** Admitted by the transaction that is open. */
  private readonly admitted = new Set<string>();

  readonly wake: Wake;
  readonly scope: PhaseScope;
  readonly kept: Map<string, unknown>;

  constructor(private readonly parts: RunParts) {
    this.wake = parts.wake;
    this.scope = parts.scope;
    this.kept = parts.kept;
  }

  get signal(): AbortSignal {
    return this.parts.gate.signal;
  }

  get execution(): Stored<object> {
    return toStored(this.parts.writer.head, this.parts.writer.cursor);
  }

  async call<T>(spec: CallSpec<T>, send: (context: SendContext) => Promise<T>): Promise<CallOutcome<T>> {
    this.assertOpen();
    return this.parts.calls.call(spec, send);
  }

  emit(...events: readonly ExecutionEventBody[]): void {
    this.assertOpen();
    this.parts.writer.emit(events);
  }

  async commit(cursor: object, rows?: FeatureRows, children?: readonly NewChild[]): Promise<void> {
    this.assertOpen();
    this.wrote = true;
    await this.parts.writer.write({ cursor, rows, children, consume: this.parts.takeSignals() });
  }

  finish(cursor: object, rows?: FeatureRows, children?: readonly NewChild[]): void {
    this.assertOpen();
    if (this.finished) throw new Error('a phase finished twice');
    this.wrote = true;
    this.finished = { cursor, rows, children, consume: this.parts.takeSignals() };
  }

  async transact(cursor: object, locks: Locks, write: (tx: Tx) => Promise<void>): Promise<void> {
    this.assertOpen();
    this.wrote = true;
    this.admitted.clear();
    const { writer } = this.parts;
    this.parts.onLocked(await writer.transact({ cursor, consume: this.parts.takeSignals() }, locks, write));
    if (this.admitted.size > 0) writer.announceChildren([...this.admitted]);
  }

  async admit(tx: Tx, { attached, ready = true, ...child }: NewChild): Promise<string> {
    this.assertOpen();
    const { id, context } = this.parts.writer.head;
    // Whose it is, the parent's head says.
    const admitted = await admitExecution(tx, { ...child, context, memberId: null, ready, parent: { id, attached } });
    this.admitted.add(admitted);
    return admitted;
  }

  close(): void {
    this.closed = true;
  }

  private assertOpen(): void {
    if (this.closed) throw new Error('a phase used its run after it had ended');
  }
}
