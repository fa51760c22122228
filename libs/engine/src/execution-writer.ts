import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { hasEnded, type EndState, type ExecutionState } from '@domain/executions/state.js';
import type { SafeFailure } from '@domain/executions/failures.js';
import { ok } from '@domain/result.js';
import type { LockedParent, NewChild } from './child.js';
import { byFeatureAndId } from './aggregate-order.js';
import type { CommitItem, CommitOutcome, GateAnswer, Release, WireCall, WireEvent, WireMove } from './commit-item.js';
import type { Committer } from './committer.js';
import { Draft } from './draft.js';
import { eventBinding, sealEvent } from './events.js';
import { lockHeads } from './executions.js';
import type { Head } from './head.js';
import { withNotes, type RegisteredHook } from './hooks.js';
import type { EnginePorts } from './ports.js';
import type { FeatureRows, Locks } from './phase.js';
import { timeOf } from './progress.js';
import type { OrganizationKey } from './sealing.js';
import { isDataError, isPassingStorageError } from './storage-errors.js';
import type { Tx } from './tx.js';
import { isKnown, wireChildren, wireCursor, wireEnd, wireRows } from './wire-change.js';

/** The database refused a commit of this owner for good: what is stored decides how it goes on. */
export class CommitRefused extends Error {
  constructor(readonly outcome: CommitOutcome) {
    super(`commit ${outcome}`);
  }
}

export type Change = {
  readonly to?: ExecutionState;
  readonly do?: Release;
  readonly cursor?: object | undefined;
  readonly rows?: FeatureRows | undefined;
  /** Never of a change that is held: what is admitted is durable before the phase is over. */
  readonly children?: readonly NewChild[] | undefined;
  readonly until?: Date | null;
  readonly ending?: EndState;
  /** Waits for a person, or goes on after one: it costs no time and proves no progress. */
  readonly human?: boolean;
  readonly consume?: readonly { readonly name: string; readonly number: number }[];
  readonly failure?: SafeFailure | null;
  /** Calls whose saving this write is for: they go with it or not at all, never with the write of a call beside them. */
  readonly calls?: readonly WireCall[];
};

/** A phase's last change with everything that it emitted: it stays whole, also when a release that it joined is refused. */
type Held = { readonly change: Change; readonly events: readonly ExecutionEventBody[]; readonly calls: readonly WireCall[] };
type CallName = Pick<WireCall, 'step' | 'name' | 'attempt'>;
type Built = { readonly item: CommitItem; readonly held: Held | null };

const flushAfterMs = 50;
const flushAtBytes = 1024;
const holdMs = 20;

/**
 * All writes of one owned execution, one at a time, in order, numbered. Text goes out by itself every 50 ms or 1 KiB; a phase's last commit is held
 * until the next write, at most 20 ms, so that it shares a commit with the call that follows it.
 */
export class ExecutionWriter {
  /** What features note of the named steps that commits make durable. */
  hooks: readonly RegisteredHook[] = [];
  private readonly draft = new Draft();
  private held: Held | null = null;
  /** The held change that is on its way, not answered yet: what comes after it builds on it already. */
  private sending: Held | null = null;
  private tail: Promise<unknown> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;
  /** The first write that failed in the background; the next awaited write throws it. */
  private broken: Error | null = null;
  /** A claim made it `running`: the first commit says so, unless a cancel came before it. */
  private starts = false;
  /** The version of the owner's cursor, until it is stored. */
  private raisesTo: number | null = null;
  /** A commit admitted children; how many of them are new and open is to be read. */
  private admitted = false;

  constructor(
    readonly head: Head,
    private readonly key: OrganizationKey,
    private readonly committer: Committer,
    private readonly ports: EnginePorts,
    private readonly onBroken: (cause: Error) => void,
  ) {}

  emit(events: readonly ExecutionEventBody[]): void {
    for (const event of events) this.draft.add(event);
    if (this.draft.textBytes >= flushAtBytes) this.background(() => this.flushText());
    else if (this.draft.textBytes > 0) this.later(flushAfterMs);
  }

  addCall(call: WireCall): void {
    this.draft.calls.push(call);
  }

  /** What was drafted of an attempt that the store knows more of by now. */
  dropMoves({ step, name, attempt }: CallName): void {
    const others = (call: WireCall): boolean => call.step !== step || call.name !== name || call.attempt !== attempt;
    this.draft.calls = this.draft.calls.filter(others);
    if (this.held) this.held = { ...this.held, calls: this.held.calls.filter(others) };
  }

  /** What this owner knows of its calls and could not save: their results, and that some were never sent. */
  unsaved = (): readonly WireMove[] => [...(this.held?.calls ?? []), ...this.draft.calls].filter(isKnown);

  /** For the owner that made it `running`, and for the next one when that claim was lost before it could say so. */
  announceRunning(): void {
    this.starts = true;
  }

  /** Whether children were admitted since this was asked last. */
  takeAdmitted(): boolean {
    const { admitted } = this;
    this.admitted = false;
    return admitted;
  }

  /** Children are durable: they may be taken up. */
  announceChildren(ids: readonly string[]): void {
    this.ports.reach('child:admitted');
    for (const id of ids) this.ports.published(id);
  }

  /** The stored cursor is an older version's: the next commit, whatever it is for, stores this one instead, with its version. */
  raise(version: number, cursor: object): void {
    this.head.cursor = cursor;
    this.raisesTo = version;
  }

  /** The phase that emitted them will run again, or never: neither wants them in the log. */
  dropUnsaved(): void {
    this.draft.dropUnsaved();
  }

  /** What a write in the background met, also one on its way: whoever reads what is stored deals with it. None begins with what is known until then. */
  async takeBroken(): Promise<Error | null> {
    this.stop();
    await this.tail;
    const { broken } = this;
    this.broken = null;
    return broken;
  }

  /**
   * Keeps a change for the next write. One that is held already goes out first, alone: phases become durable in order. In its turn among the writes,
   * so that one on its way that is refused gives back its own and nothing of this.
   */
  async hold(change: Change): Promise<void> {
    const { events, calls } = this.draft.takeAll();
    try {
      await this.inOrder(async () => {
        if (this.held) await this.sendHeld();
        this.held = { change, events, calls };
      });
    } catch (error) {
      this.draft.calls.unshift(...calls);
      throw error;
    }
    this.later(holdMs);
  }

  /** The cursor as the next phase must see it: the held one is as good as stored, because it goes out with the next write or is on its way. */
  get cursor(): object {
    return this.held?.change.cursor ?? this.sending?.change.cursor ?? this.head.cursor;
  }

  /** Durable when it resolves. Everything emitted so far is in it. Answers why the gate of a call in it did not let that out. */
  write(change: Change): Promise<GateAnswer | null> {
    return this.inOrder(async () => {
      // Two sets of a feature's rows need two commits.
      if (this.held?.change.rows && change.rows) await this.sendHeld();
      return this.send(this.build(change));
    });
  }

  /**
   * The ungrouped commit: locks aggregates, then all heads by id (an end's parent among them), fences, runs `work`, then commits the change. Answers
   * the other locked heads.
   */
  transact(change: Change, locks: Locks, work: (tx: Tx, parent: LockedParent | null) => Promise<void>): Promise<readonly string[]> {
    return this.inOrder(async () => {
      // `work` reads what a finished phase's rows say, and follows them in the log.
      if (this.held?.change.rows) await this.sendHeld();
      const built = this.build(change);
      for (let attempt = 0; ; attempt += 1) {
        try {
          this.ports.assertOwned();
          const { outcome, heads } = await this.lockedCommit(built.item, locks, work);
          this.settle(built, outcome);
          return heads;
        } catch (error) {
          if (error instanceof CommitRefused) throw error;
          // After a lost COMMIT the fence answers `already`; the work then does not run again.
          if (!isPassingStorageError(error)) return this.giveBack(built, error);
          await delay(5 + Math.random() * Math.min(95, 20 * (attempt + 1)));
        }
      }
    });
  }

  /** Stops the timers; nothing more is written. */
  stop(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private async lockedCommit(
    item: CommitItem,
    locks: Locks,
    work: (tx: Tx, parent: LockedParent | null) => Promise<void>,
  ): Promise<{ outcome: CommitOutcome; heads: readonly string[] }> {
    const done = await this.ports.transact(this.head.context, async (tx) => {
      const aggregates = [...(locks.aggregates ?? []), ...(item.feature ? [{ feature: item.feature, id: item.aggregate as string }] : [])];
      for (const { feature, id } of aggregates.sort(byFeatureAndId)) await tx.query(`select "feature_lock_${feature.replace(/\W/g, '')}"($1::uuid[], false)`, [[id]]);
      const others = [...(locks.heads ? await locks.heads(tx) : []), ...(item.parent ? [item.parent] : [])];
      const held = await lockHeads(tx, [this.head.id, ...others]);
      const [fence] = (await tx.query(`select commit_fence(x, $2::jsonb) as outcome, x.open_children as "openChildren" from execution x where x.id = $1`, [
        this.head.id,
        item,
      ])) as {
        outcome: CommitOutcome | null;
        openChildren: number;
      }[];
      if (!fence) return ok({ outcome: 'gone' as CommitOutcome, heads: others, openChildren: 0 });
      if (fence.outcome) return ok({ outcome: fence.outcome, heads: others, openChildren: fence.openChildren });
      const state = held.find(({ id }) => id === item.parent)?.state ?? null;
      await work(tx, item.parent && this.head.parent ? { ...this.head.parent, state } : null);
      // `work` may have admitted children.
      const [row] = (await tx.query(`select c.o_outcome as outcome, x.open_children as "openChildren" from execution x cross join commit_one($2::jsonb) c where x.id = $1`, [
        this.head.id,
        item,
      ])) as { outcome: CommitOutcome; openChildren: number }[];
      if (row?.outcome !== 'applied') throw new Error(`a fenced commit answered ${row?.outcome}`);
      return ok({ outcome: row.outcome, heads: others, openChildren: row.openChildren });
    });
    if (!done.ok) throw new Error('an engine transaction has no failures');
    this.head.openChildren = done.value.openChildren;
    return done.value;
  }

  private async flushText(): Promise<void> {
    if (this.held) await this.sendHeld();
    const events = this.draft.takeStreamed();
    if (events.length === 0) return;
    await this.send({ item: this.item({}, events, []), held: null });
    this.ports.reach('text:flushed');
  }

  /** The held change alone: what the phase after it has drafted so far belongs to that phase's own commit. */
  private async sendHeld(): Promise<void> {
    const held = this.takeHeld();
    if (!held) return;
    await this.send({ item: this.item(held.change, held.events, held.calls), held });
  }

  private takeHeld(): Held | null {
    this.sending = this.held;
    this.held = null;
    return this.sending;
  }

  private build(change: Change): Built {
    const held = this.takeHeld();
    const before = held?.change ?? {};
    const merged: Change = {
      ...before,
      ...change,
      cursor: change.cursor ?? before.cursor,
      rows: change.rows ?? before.rows,
      consume: [...(before.consume ?? []), ...(change.consume ?? [])],
    };
    const { events, calls } = this.draft.takeAll();
    return { item: this.item(merged, [...(held?.events ?? []), ...events], [...(held?.calls ?? []), ...calls, ...(change.calls ?? [])]), held };
  }

  private async send(built: Built): Promise<GateAnswer | null> {
    const settled = await this.submit(built.item).catch((error: unknown) => this.giveBack(built, error));
    this.settle(built, settled.outcome);
    return settled.gate;
  }

  /** Asynchronous, so that what may not even be sent is given back as what was refused is. */
  private async submit(item: CommitItem): ReturnType<Committer['submit']> {
    this.ports.assertOwned();
    return this.committer.submit(item);
  }

  private settle({ item, held }: Built, outcome: CommitOutcome): void {
    this.ports.observer.committed(this.head, { number: item.n, state: item.to, release: item.do, events: item.events.length, outcome });
    if (outcome !== 'applied' && outcome !== 'already') return this.giveBack({ item, held }, new CommitRefused(outcome));
    const tells = this.head.memberId !== null && item.to !== this.head.state && (hasEnded(item.to) || item.to === 'outcome_unknown');
    this.head.commitNumber = item.n;
    this.starts = false;
    this.sending = null;
    if (!item.idle) this.head.stalls = 0;
    this.head.version = item.version ?? this.head.version;
    this.raisesTo = null;
    this.head.state = item.to;
    if (item.cursor) this.head.cursor = item.cursor;
    this.ports.published(item.id);
    if (item.calls?.some((call) => 'move' in call && call.limited && call.to !== 'sending')) this.ports.placesFreed?.();
    if (tells) this.ports.told();
    this.ports.reach('commit:applied');
    if (item.children) {
      this.admitted = true;
      this.announceChildren(item.children.map(({ id }) => id));
    }
    if (held) this.ports.reach('phase:saved');
  }

  /**
   * What a finished phase and the outside answered is still known: it waits for the commit that follows. A call that was not let out is not. A
   * finished phase whose own rows were refused as data is given up: with them the end would be refused as well.
   */
  private giveBack({ item, held }: Built, error: unknown): never {
    const kept = new Set(isDataError(error) ? [] : held?.calls);
    this.held = isDataError(error) ? null : held;
    this.sending = null;
    this.draft.calls.unshift(...(item.calls ?? []).filter((call) => 'move' in call && call.to !== 'sending' && !kept.has(call)));
    throw error;
  }

  private withStates(events: readonly ExecutionEventBody[], to: ExecutionState): readonly ExecutionEventBody[] {
    const { state } = this.head;
    const before = this.starts && state === 'running' ? [{ _tag: 'State', state } as const] : [];
    return [...before, ...events, ...(to === state ? [] : [{ _tag: 'State', state: to } as const])];
  }

  private item(change: Change, events: readonly ExecutionEventBody[], calls: readonly WireCall[]): CommitItem {
    const { head } = this;
    const n = head.commitNumber + 1;
    const to = change.to ?? head.state;
    const all = this.withStates(events, to);
    const moves = to !== head.state || (change.do ?? 'keep') !== 'keep';
    const item: CommitItem = {
      id: head.id,
      g: head.generation,
      owner: head.owner,
      epoch: head.epoch,
      claim: head.claimId,
      n,
      from: [head.state],
      to,
      do: change.do ?? 'keep',
      events: all.map((event, index) => this.wireEvent(event, n, index + 1)),
      cancel: head.cancelNumber,
      // A release that an unread signal contradicts must be refused; a handover reads nothing and refuses nothing.
      ...(moves && change.do !== 'yield' ? { seen: head.signalCount } : {}),
      ...wireCursor(change.cursor, head, this.raisesTo),
      ...timeOf(change, calls, head),
      ...(change.until === undefined ? {} : { until: change.until?.toISOString() ?? null }),
      ...(calls.length > 0 ? { calls } : {}),
      ...(change.consume?.length ? { consume: change.consume } : {}),
      ...wireRows(change.rows),
      ...wireChildren(change.children),
      ...wireEnd(change, to, head, this.key),
    };
    return withNotes(item, change.cursor !== undefined, this.hooks, { head, key: this.key, ports: this.ports });
  }

  private wireEvent(event: ExecutionEventBody, commitNumber: number, position: number): WireEvent {
    const body = sealEvent(this.key, eventBinding(this.head.id, event._tag, { claimId: this.head.claimId, commitNumber, position }), event);
    return {
      t: event._tag,
      ...('step' in event ? { step: event.step } : {}),
      ...('attempt' in event ? { attempt: event.attempt } : {}),
      ...(event._tag === 'State' ? { state: event.state } : {}),
      ...(body ? { b: body.toString('base64') } : {}),
    };
  }

  private inOrder<T>(work: () => Promise<T>): Promise<T> {
    const run = this.tail.then(() => {
      if (this.broken) {
        const cause = this.broken;
        this.broken = null;
        throw cause;
      }
      return work();
    });
    this.tail = run.catch(() => undefined);
    return run;
  }

  private later(ms: number): void {
    this.timer ??= setTimeout(() => this.background(() => this.flushText()), ms);
  }

  private background(work: () => Promise<void>): void {
    this.stop();
    void this.inOrder(work).catch((error: unknown) => {
      this.broken = error instanceof Error ? error : new Error(String(error));
      this.onBroken(this.broken);
    });
  }
}
