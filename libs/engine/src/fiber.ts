import { setTimeout as delay } from 'node:timers/promises';
import type { CommandBus } from '@nestjs/cqrs';
import type { EndState } from '@domain/executions/state.js';
import type { SafeFailure } from '@domain/executions/failures.js';
import type { Result } from '@domain/result.js';
import { CallLog, CallWaits, OutcomeUnknown } from './call-log.js';
import { assertWhole, attachedBelow, stopOnce } from './cascade.js';
import { closePatienceMs, closeResources, ResourcesLeftOpen } from './closing.js';
import { OwnershipLost, type Committer } from './committer.js';
import { CommitRefused, ExecutionWriter } from './execution-writer.js';
import { DeadlineExceeded, watchExpiry } from './expiry.js';
import { Gate } from './gate.js';
import { toStored, type Claimed, type Head } from './head.js';
import type { LateResults } from './late-results.js';
import type { LeaseStore } from './lease-store.js';
import { OpenRun } from './open-run.js';
import type { LoadedWork } from './loaded-work.js';
import type { EnginePorts } from './ports.js';
import { IdentityRevoked, identityRevoked, stopSignals } from './revoked-identity.js';
import type { Next, Saga, Signal, Wake } from './saga.js';
import { PhaseScope } from './scope.js';
import type { OrganizationKey } from './sealing.js';
import { AccessLost } from './service-identity.js';
import { isPassingStorageError } from './storage-errors.js';
import { authorize, poisonedAt, takeUp } from './take-up.js';
import type { KnownWorkflow } from './workflows.js';
import type { Tx } from './tx.js';

export type FiberDeps = {
  readonly committer: Committer;
  readonly commands: CommandBus;
  readonly ports: EnginePorts;
  readonly workflowOf: (workflow: string) => KnownWorkflow;
  readonly load: (head: Head) => Promise<LoadedWork>;
  readonly lateResults: Pick<LateResults, 'handIn'>;
  readonly leases: LeaseStore;
  /** Aborts when the process has handed over all of its work. */
  readonly processLeaves: AbortSignal;
  readonly timeLeft: (head: Head) => Promise<number | null>;
  readonly isDraining: () => boolean;
};

const resourcesClose = Gate.closed(new Error('the resources of a phase close'));

/** Why a running phase is stopped. Cancels are read from the store, so the reason says only that there is something to read. */
export type StopReason = 'look' | 'expired' | 'shutdown' | 'lost';

/** What the engine tells itself: it is read and consumed here, and no saga sees it. */
const ownSignals: readonly string[] = ['decision', 'call-result'];

/** Acknowledged commits of a claim are not in the database any more: it failed over to a standby that did not have them. */
export class CommitsLost extends Error {
  constructor(count: number) {
    super(`the database lost ${count} acknowledged commits`);
  }
}

/** Moves one claimed execution forward until it waits, ends, or belongs to somebody else. */
export class Fiber {
  private readonly workflow: KnownWorkflow;
  private readonly writer: ExecutionWriter;
  private readonly calls: CallLog;
  private stop = new Gate();
  private stopped: StopReason | null = null;
  private released = false;
  /** The work could not even be ended, or the database forgot its last commits: the runner takes the row back at the cost of a stall. */
  private abandoned = false;
  private signals: Signal[] = [];
  /** The engine's own that are not consumed yet. */
  private answers: Signal[] = [];
  private parkedUntil: { readonly until: Date | null } | null = null;
  private failure: SafeFailure | null;
  private revoked = false;
  private readonly kept = new Map<string, unknown>();
  private readonly startedAt = performance.now();
  /** Whether earlier owners or senders left calls or signals to read first. Until they are known, nothing is done: not even an end. */
  private inherits: boolean;
  private readonly leaving = new Gate();
  /** Shut while a phase's resources close, and for good when some are left open: nothing is sent. */
  private closing: Gate | null = null;
  private readonly mustGo = new Gate();

  constructor(
    private readonly claimed: Claimed,
    private readonly key: OrganizationKey,
    private readonly deps: FiberDeps,
  ) {
    this.workflow = deps.workflowOf(claimed.head.workflow);
    this.writer = new ExecutionWriter(claimed.head, key, deps.committer, deps.ports, (cause) => this.interrupt(cause instanceof OwnershipLost ? 'lost' : 'look'));
    if (claimed.startsRunning) this.writer.announceRunning();
    this.calls = new CallLog(this.head.id, this.writer, key, deps.ports, () => this.gate);
    this.failure = claimed.head.failure;
    this.inherits = claimed.head.generation > 1 || claimed.head.signalCount > 0;
  }

  get head(): Head {
    return this.claimed.head;
  }

  /** The gate closes first: no send starts after this returns. */
  interrupt(reason: StopReason): void {
    if (this.stopped === 'lost') return;
    this.stopped = reason;
    this.stop.close(reason);
    if (reason === 'shutdown' || reason === 'lost') setTimeout(() => this.mustGo.close(reason), closePatienceMs[reason]).unref();
  }

  private get gate(): Gate {
    return this.closing ?? this.stop;
  }

  /** `false`: it gave up without releasing its row. */
  run(): Promise<boolean> {
    return this.deps.ports.observer.duringRun(this.head, () => this.moveOn());
  }

  private async moveOn(): Promise<boolean> {
    void this.watchTime();
    try {
      const taken = takeUp(this.workflow, this.head, { writer: this.writer, calls: this.calls }, this.deps.ports);
      this.failure ??= taken.failure;
      this.abandoned = taken.givesBack;
      while (!this.released && !this.abandoned) {
        try {
          await this.advance();
        } catch (error) {
          await this.recover(error);
        }
      }
      return !this.abandoned;
    } finally {
      this.leaving.close('left');
      this.writer.stop();
      this.deps.lateResults.handIn(this.head, this.writer.unsaved());
    }
  }

  /** Time that is over already is known before the first step. */
  private async watchTime(): Promise<void> {
    const { head, claimed, deps } = this;
    if (!head.expiresAt) return;
    const leftMs = head.expiresAt.getTime() - claimed.claimedAt.getTime();
    if (leftMs > 0 && (await watchExpiry(leftMs, () => deps.timeLeft(head), this.leaving.signal)) === 'left') return;
    head.expired = true;
    if (leftMs > 0 && this.stopped === null) this.interrupt('expired');
  }

  private async advance(): Promise<void> {
    const { head } = this;
    if (this.stopped === 'lost') return void (this.released = true);
    this.inherits ||= this.writer.takeAdmitted();
    if (this.inherits) return void (await this.reload());
    if (this.stopped === 'look' || this.stopped === 'expired') return this.reread(null);
    // Left open: the phase has not ended, and neither may the work.
    if (this.closing) return this.handOver();
    if (head.state === 'outcome_unknown') return this.settleUnknown();
    if (this.calls.undecided > 0) return this.waitForDecision();
    if (head.state === 'cancelling') return this.end(this.revoked ? 'failed' : 'cancelled', this.failure);
    if (head.ending) return this.end(head.ending, this.failure);
    if (this.failure) return this.end('failed', this.failure);
    if (this.deps.isDraining() || this.stopped === 'shutdown') return this.handOver();
    await this.step();
  }

  private async step(): Promise<void> {
    const { head } = this;
    if (head.stalls >= poisonedAt) return this.fail(new Error(`taken over ${head.stalls} times without progress`), 'crashes');
    const { saga } = this.workflow;
    if (head.expired && !saga.expired) return this.fail(new DeadlineExceeded(), 'deadline_exceeded');
    if (this.parkedUntil) return this.park(this.parkedUntil);
    if (head.service !== null) await authorize(this.workflow, head);
    const wake = this.wake();
    await this.follow(this.next(saga, wake), wake);
  }

  /** A call waits for its limit, with nothing of the phase open. A place that came meanwhile is counted on the head and refuses this. */
  private async park({ until }: { readonly until: Date | null }): Promise<void> {
    this.parkedUntil = null;
    await this.writer.write({ to: 'waiting', do: 'park', until });
    this.released = true;
  }

  /** The database's clock: its time at the claim, moved on by this process's monotonic clock. */
  private now(): Date {
    return new Date(this.claimed.claimedAt.getTime() + (performance.now() - this.startedAt));
  }

  private wake(): Wake {
    const now = this.now();
    const { waitUntil } = this.head;
    return { now, due: waitUntil !== null && now >= waitUntil, expired: this.head.expired, signals: [...this.signals] };
  }

  private next(saga: Saga<object>, wake: Wake): Next {
    const stored = toStored(this.head, this.writer.cursor);
    const next = wake.expired && saga.expired ? saga.expired(stored, wake) : saga.next(stored, wake);
    if (next.kind === 'wait' && next.until && next.until <= wake.now) throw new Error('the saga waits for a time that has passed');
    return next;
  }

  private async follow(next: Next, wake: Wake): Promise<void> {
    if (next.kind === 'end') return this.end(next.as, next.failure);
    if (next.kind === 'wait') {
      await this.writer.write({ to: 'waiting', do: 'wait', until: next.until, human: next.for === 'decision' });
      this.released = true;
      return;
    }
    const { kept, writer, calls, head } = this;
    const { ports, leases } = this.deps;
    const scope = new PhaseScope({ head, leases, ports, gate: () => this.gate });
    const takeSignals = () => [...this.answers.splice(0), ...this.signals.splice(0)];
    const run = new OpenRun({ wake, gate: this.stop, scope, kept, writer, calls, takeSignals, onLocked: (heads) => this.publishAll(heads) });
    let result: Result<void, { readonly _tag: string }> | undefined;
    try {
      const handle = () => this.deps.commands.execute(new next.command(run, next.args) as never);
      result = (await this.deps.ports.observer.duringPhase(this.head, next.command.name, handle)) as typeof result;
    } finally {
      run.close();
      this.closing = resourcesClose;
      await closeResources(scope, this.mustGo, this.deps.processLeaves);
      this.closing = null;
    }
    if (run.finished?.children?.length) await this.writer.write(run.finished);
    else if (run.finished) await this.writer.hold(run.finished);
    if (result && !result.ok) return this.fail(result.failure, result.failure._tag);
    if (!run.wrote) throw new Error(`phase ${next.command.name} ended without a commit`);
    this.deps.ports.reach(`phase:ended:${next.command.name}`);
  }

  private async end(as: EndState, failure: SafeFailure | null): Promise<void> {
    if (this.calls.settle() > 0) return this.waitForDecision();
    const { head } = this;
    if (head.openChildren > 0) return this.awaitChildren(as, failure);
    const { saga } = this.workflow;
    const outcome = { as, failure };
    if (failure) this.writer.emit([{ _tag: 'Failure', category: failure.category, errorId: this.deps.ports.publicErrorId(failure.errorId) }]);
    this.deps.ports.reach('end:before');
    if (head.parent) this.deps.ports.reach('child:end-before');
    const change = { to: as, do: 'end', failure } as const;
    // A child's end is never grouped: its parent's head is locked with its own.
    if (saga.end || head.parent) {
      const stored = toStored(head, this.writer.cursor);
      const locks = {
        aggregates: saga.aggregates?.(stored) ?? [],
        heads: async (tx: Parameters<NonNullable<typeof saga.end>>[0]) => (await saga.heads?.(tx, stored, outcome)) ?? [],
      };
      const touched = await this.writer.transact(change, locks, async (tx, parent) => {
        await saga.end?.(tx, stored, outcome, parent);
        if (parent) this.deps.ports.reach('child:end-locked');
      });
      if (head.parent) this.deps.ports.reach('child:end-after');
      this.publishAll(touched);
    } else await this.writer.write(change);
    this.released = true;
    this.deps.ports.reach('end:after');
  }

  /**
   * Attached children are open: an end other than `completed` asks them to stop, once, and says so with its reason, so that the owner that is woken
   * by their ends knows both.
   */
  private async awaitChildren(as: EndState, failure: SafeFailure | null): Promise<void> {
    const { head } = this;
    const { ports } = this.deps;
    const change = { to: as === 'cancelled' || head.state === 'cancelling' ? 'cancelling' : 'waiting', do: 'wait', until: null } as const;
    if (as === 'completed' || head.ending) await this.writer.write(change);
    else {
      let below: readonly string[] = [];
      const locks = { heads: async (tx: Tx) => (below = await attachedBelow(tx, [head.id])) };
      const touched = await this.writer.transact({ ...change, ending: as, failure }, locks, async (tx) => {
        await assertWhole(tx, [head.id, ...below]);
        await stopOnce(tx, below);
        ports.reach('cascade:locked');
      });
      ports.reach('cascade:after');
      this.publishAll(touched);
    }
    this.released = true;
  }

  /** Unknown calls wait for a person; nothing is sent again until each has its decision. */
  private async waitForDecision(): Promise<void> {
    await this.writer.write({ to: 'outcome_unknown', do: 'wait', until: null, human: true });
    this.released = true;
  }

  private async settleUnknown(): Promise<void> {
    if (this.calls.undecided > 0) return this.waitForDecision();
    await this.writer.write({ to: this.head.cancelNumber > 0 ? 'cancelling' : 'running', consume: this.answers.splice(0), human: true });
  }

  private async handOver(): Promise<void> {
    await this.writer.write({ do: 'yield' });
    this.released = true;
  }

  private fail(cause: unknown, category: string): void {
    this.failure ??= this.deps.ports.recordError(cause, { context: this.head.context, executionId: this.head.id, category });
  }

  private async recover(error: unknown): Promise<void> {
    this.writer.dropUnsaved();
    if (error instanceof OwnershipLost || this.stopped === 'lost') return void (this.released = true);
    if (error instanceof OutcomeUnknown || error instanceof ResourcesLeftOpen) return;
    if (error instanceof CallWaits) return void (this.parkedUntil = { until: error.until });
    if (error instanceof CommitRefused) return this.reread(error);
    if (error instanceof AccessLost) return this.fail(error, 'access_lost');
    const reason = this.stopped;
    if (reason === 'look' || reason === 'expired') return this.reread(null);
    if (reason === 'shutdown') return;
    if (isPassingStorageError(error)) return void (await delay(100 + Math.random() * 400));
    this.failOrGiveUp(error, 'internal');
  }

  private failOrGiveUp(error: unknown, category: string): void {
    if (!this.failure && this.head.state !== 'cancelling') return this.fail(error, category);
    // The end itself fails: reported each time, tried again ever later, never silently stuck.
    this.deps.ports.recordError(error, { context: this.head.context, executionId: this.head.id, category: 'end_failed' });
    this.abandoned = true;
    this.released = true;
  }

  /** What is stored decides how to go on: another owner's claim, a cancel, new signals. */
  private async reread(refusal: CommitRefused | null): Promise<void> {
    const before = { state: this.head.state, signals: this.head.signalCount, cancel: this.head.cancelNumber, children: this.head.openChildren };
    const background = await this.writer.takeBroken();
    // What it waited for may not be what it does next.
    this.parkedUntil = null;
    if (this.stopped === 'lost' || background instanceof OwnershipLost) return void (this.released = true);
    this.stop = new Gate();
    if (this.stopped !== 'shutdown') this.stopped = null;
    const mine = await this.reload();
    if (!mine) return;
    const { state, signalCount, cancelNumber, openChildren } = this.head;
    const moved = before.state !== state || before.signals !== signalCount || before.cancel !== cancelNumber || before.children !== openChildren;
    if (background && !(background instanceof CommitRefused)) return this.failOrGiveUp(background, 'internal');
    if (refusal && !moved) this.failOrGiveUp(refusal, 'commit_refused');
  }

  private async reload(): Promise<boolean> {
    const work = await this.loadPatiently();
    const { head } = this;
    if (work?.head?.claim !== head.claimId) {
      this.released = true;
      return false;
    }
    if (work.head.commitNumber < head.commitNumber) {
      this.forget(new CommitsLost(head.commitNumber - work.head.commitNumber));
      return false;
    }
    head.state = work.head.state;
    head.signalCount = work.head.signalCount;
    head.cancelNumber = work.head.cancelNumber;
    head.commitNumber = work.head.commitNumber;
    head.openChildren = work.head.openChildren;
    if (work.head.announced !== null && work.head.announced !== 'running') this.writer.announceRunning();
    // Calls first: whatever is wrong with a signal, an unproven call of an earlier owner has to be known before the work may end.
    this.inherits = false;
    this.calls.restore(work.calls);
    this.revoked ||= work.signals.some(({ name }) => name === identityRevoked);
    if (this.revoked) this.fail(new IdentityRevoked(), 'identity_revoked');
    const signals = work.signals
      .filter(({ name }) => !stopSignals.includes(name))
      .map(({ name, number, body }) => ({
        name,
        number,
        body: body === null ? null : (JSON.parse(this.key.open({ table: 'execution_signal', record: head.id }, Buffer.from(body, 'base64')).toString('utf8')) as unknown),
      }));
    this.signals = signals.filter(({ name }) => !ownSignals.includes(name));
    this.answers = signals.filter(({ name }) => ownSignals.includes(name));
    return true;
  }

  /** What this owner knows is of another history than what is stored: the row is taken back, and claimed anew from there. */
  private forget(lost: CommitsLost): void {
    this.deps.ports.recordError(lost, { context: this.head.context, executionId: this.head.id, category: 'commits_lost' });
    this.abandoned = true;
    this.released = true;
  }

  private async loadPatiently(): Promise<LoadedWork | null> {
    for (;;) {
      if (this.stopped === 'lost') return null;
      try {
        this.deps.ports.assertOwned();
        return await this.deps.load(this.head);
      } catch (error) {
        if (error instanceof OwnershipLost) return null;
        if (!isPassingStorageError(error)) throw error;
        await delay(50 + Math.random() * 200);
      }
    }
  }

  private publishAll(heads: readonly string[]): void {
    for (const id of heads) this.deps.ports.published(id);
  }
}
