import { setTimeout as delay } from 'node:timers/promises';
import { askProvider, pauseMs } from './ask-provider.js';
import { CallSeals, CallWaits, nameFields, nameOf, OutcomeUnknown, providerKeyOf, type Entry, type StoredCall } from './call-entry.js';
import type { CallOutcome, CallSpec, CallUsage, GateRefusal, SendContext } from './calls.js';
import type { GateAnswer, WireCall, WireGate, WireMove, WireUsage } from './commit-item.js';
import type { ExecutionWriter } from './execution-writer.js';
import type { Gate } from './gate.js';
import type { EnginePorts } from './ports.js';
import type { OrganizationKey } from './sealing.js';
import { openSend } from './send-signal.js';

export { CallWaits, OutcomeUnknown, type StoredCall } from './call-entry.js';

type Send<T> = (context: SendContext) => Promise<T>;
type Opened = { readonly kind: 'open'; readonly entry: Entry } | { readonly kind: 'not-passed'; readonly reason: GateRefusal; readonly attempt: number };
type More = Pick<WireMove, 'result' | 'category' | 'error' | 'usage' | 'decided' | 'unsent' | 'used'>;

/** How long a call may hold its place where it says nothing else. */
const permitTimeoutMs = 60_000;
const timeoutOf = (spec: Pick<CallSpec<unknown>, 'timeoutMs' | 'permit'>): number | undefined => spec.timeoutMs ?? (spec.permit ? permitTimeoutMs : undefined);

/** A provider does the work of a key once, however often it is asked and whichever answer comes first: all attempts of a keyed call are counted as its first. */
const countedOf = ({ safety }: Entry, usage: CallUsage): WireUsage => (safety === 'keyed' ? { ...usage, attempt: 1 } : usage);

/** The outside calls of one owned execution: latest attempt of each, and the only way to send. */
export class CallLog {
  /** A service's right, asked before each send; throws when it is gone. */
  authorize: (() => Promise<void>) | null = null;
  private readonly latest = new Map<string, Entry>();
  private readonly seals: CallSeals;

  constructor(
    private readonly executionId: string,
    private readonly writer: ExecutionWriter,
    key: OrganizationKey,
    private readonly ports: EnginePorts,
    /** The gate of the moment: a new one opens after what closed the last was read. */
    private readonly gate: () => Gate,
  ) {
    this.seals = new CallSeals(executionId, key);
  }

  /**
   * Takes over what is stored. Of an attempt that this owner made itself it knows at least as much as the store; of an earlier owner's the store may
   * know more than before: its result came late. An unproven call that an earlier owner was sending has an unknown result from here on. One whose stored
   * data is damaged hides none of the others: the damage is thrown when all are known, so that the work fails of it and loses no call.
   */
  restore(calls: readonly StoredCall[]): void {
    const damaged: unknown[] = [];
    for (const call of calls) {
      const known = this.latest.get(nameOf(call));
      if (known?.own && known.attempt === call.attempt && call.decided === null && !call.late) continue;
      if (known) this.writer.dropMoves(known);
      const { input, ...stored } = call;
      const entry: Entry = { ...stored, lostUsage: null, own: false };
      try {
        entry.lostUsage = input === null ? null : this.seals.openInput(entry, input).lostUsage;
      } catch (error) {
        damaged.push(error);
      }
      this.latest.set(nameOf(call), entry);
      if (call.safety === 'unproven' && call.state === 'sending') this.giveUp(entry);
    }
    if (damaged.length > 0) throw damaged[0];
  }

  /** Unknown calls that nobody has settled. */
  get undecided(): number {
    return [...this.latest.values()].filter((entry) => entry.state === 'unknown' && entry.decided === null).length;
  }

  async call<T>(spec: CallSpec<T>, send: Send<T>): Promise<CallOutcome<T>> {
    const previous = this.latest.get(nameOf(spec));
    const saved = previous && this.savedOutcome(previous, spec);
    if (saved) return saved;
    this.gate().assertOpen();
    if (previous?.state === 'sending' && previous.safety === 'reconcilable') return this.reconcile(previous, spec, send, null);
    const opened = await this.open(spec, previous);
    return opened.kind === 'open' ? this.send(opened.entry, spec, send) : opened;
  }

  /**
   * Closes every open call for an end: what never left is abandoned, a lost repeatable one too (its usage stays unknown), one that may not be repeated
   * is unknown. Answers how many still need a decision.
   */
  settle(): number {
    for (const entry of this.latest.values()) {
      if (entry.state === 'intent') this.move(entry, 'abandoned', { unsent: true });
      else if (entry.state === 'sending') {
        if (entry.safety === 'unproven' || entry.safety === 'reconcilable') this.giveUp(entry);
        else this.move(entry, 'abandoned', entry.lostUsage ? { usage: entry.lostUsage } : {});
      }
    }
    return this.undecided;
  }

  private savedOutcome<T>(entry: Entry, spec: CallSpec<T>): CallOutcome<T> | null {
    if (entry.state === 'unknown' && entry.decided === null) throw new OutcomeUnknown();
    if (entry.state === 'unknown' && entry.decided === 'stop') return { kind: 'stopped', attempt: entry.attempt };
    const counts = entry.state === 'succeeded' || (entry.state === 'failed' && entry.attempt > (spec.consumed ?? 0));
    if (!counts || entry.result === null) return null;
    return { kind: 'result', result: this.seals.openResult(entry, entry.result) as T, attempt: entry.attempt, replayed: true };
  }

  private async open<T>(spec: CallSpec<T>, previous: Entry | undefined): Promise<Opened> {
    if (previous?.state === 'intent') return this.passGate(previous, spec);
    // An earlier attempt that nobody can finish any more: its usage is unknown, never zero.
    if (previous?.state === 'sending') this.move(previous, 'abandoned', spec.lostUsage ? { usage: spec.lostUsage } : {});
    // Nothing but a policy stands between this owner's own attempts: they are no hot loop.
    if (previous?.own && previous.decided === 'retry') await delay(pauseMs(previous.attempt), undefined, { signal: this.gate().signal });
    const entry = this.newEntry(spec, (previous?.attempt ?? 0) + 1);
    const sends = entry.state === 'sending';
    const answer = await this.writer.write({ calls: [this.wireOf(entry, spec, sends)] });
    this.latest.set(nameOf(spec), entry);
    if (answer) return this.notPassed(entry, answer);
    this.ports.reach(`call:${entry.state}`);
    return sends ? this.opened(entry) : this.passGate(entry, spec);
  }

  private wireOf<T>(entry: Entry, spec: CallSpec<T>, sends: boolean): WireCall {
    const { kind, safety, on_unknown: unknown } = entry;
    return {
      ...nameFields(entry),
      kind,
      safety,
      key: providerKeyOf(this.executionId, entry),
      to: entry.state,
      ...this.seals.sealInput(entry, spec.input, spec.lostUsage),
      ...(unknown ? { unknown } : {}),
      ...(entry.limited ? { limited: true } : {}),
      ...(sends ? this.askOfGate(spec) : {}),
    };
  }

  private newEntry<T>(spec: CallSpec<T>, attempt: number): Entry {
    const { step, name, kind, safety, lostUsage, onUnknown } = spec;
    return {
      step,
      name,
      attempt,
      generation: this.writer.head.generation,
      kind,
      safety,
      state: safety === 'unproven' || safety === 'reconcilable' ? 'intent' : 'sending',
      late: false,
      limited: spec.permit !== undefined || spec.tokens !== undefined,
      on_unknown: onUnknown === 'stop' || onUnknown === 'retry' ? onUnknown : null,
      decided: null,
      result: null,
      lostUsage: lostUsage ?? null,
      own: true,
    };
  }

  /**
   * The last gate: a numbered commit that names the owner, the state, the cancel number and the identity, so that an accepted cancel and a removed right
   * precede every later send, on any node.
   */
  private async passGate<T>(entry: Entry, spec: CallSpec<T>): Promise<Opened> {
    const gate: WireMove = { ...nameFields(entry), move: ['intent'], to: 'sending', ...this.askOfGate(spec) };
    const answer = await this.writer.write({ calls: [gate] });
    entry.own = true;
    if (answer) return this.notPassed(entry, answer);
    entry.state = 'sending';
    this.ports.reach('call:sending');
    return this.opened(entry);
  }

  private opened(entry: Entry): Opened {
    if (entry.limited) this.ports.reach('permit:taken');
    return { kind: 'open', entry };
  }

  private askOfGate<T>(spec: CallSpec<T>): { gate?: WireGate } {
    const { identityId } = this.writer.head;
    const { permit, tokens } = spec;
    if (identityId === null && !permit && !tokens) return {};
    return {
      gate: {
        ...(identityId === null ? {} : { identity: identityId }),
        ...(permit ? { permit: { ...permit, timeoutMs: timeoutOf(spec) ?? permitTimeoutMs } } : {}),
        ...(tokens ? { tokens: { bucket: tokens.bucket, amount: tokens.amount, capacity: tokens.capacity, refillPerSecond: tokens.refillPerSecond } } : {}),
      },
    };
  }

  /** What may come back makes the work wait: the call stays an intent, and asks again. */
  private notPassed(entry: Entry, answer: GateAnswer): Opened {
    if ('waits' in answer) {
      entry.state = 'intent';
      this.ports.reach('permit:waits');
      throw new CallWaits(answer.until ? new Date(answer.until) : null);
    }
    const { refused: reason } = answer;
    entry.state = 'abandoned';
    this.ports.reach('call:not-passed');
    return { kind: 'not-passed', reason, attempt: entry.attempt };
  }

  private async send<T>(entry: Entry, spec: CallSpec<T>, send: Send<T>): Promise<CallOutcome<T>> {
    try {
      if (this.authorize) await this.authorize();
      this.ports.reach('call:before-send');
      // As late as it can be: a process that was paused on the way here finds its right gone, and sends nothing.
      this.ports.assertOwned();
      this.gate().assertOpen();
    } catch (error) {
      this.move(entry, 'abandoned', { unsent: true }); // No byte was sent, and this owner knows it.
      throw error;
    }
    const sending = openSend(this.gate().signal, spec.safety, timeoutOf(spec));
    let result: T;
    try {
      const context = { attempt: entry.attempt, providerKey: providerKeyOf(this.executionId, entry), signal: sending.signal };
      result = await this.observed(entry, spec, () => send(context));
    } catch (error) {
      return await this.failed(entry, spec, send, error);
    } finally {
      sending.close();
    }
    this.ports.reach('call:result-known');
    this.save(entry, spec, result);
    return { kind: 'result', result, attempt: entry.attempt, replayed: false };
  }

  private observed<T>({ kind, safety, step, attempt }: Entry, spec: CallSpec<T>, send: () => Promise<T>): Promise<T> {
    const outcomeOf = (result: T) => (spec.failed?.(result) ? 'failed' : 'succeeded');
    const outcomeOfThrow = () => (safety === 'unproven' || safety === 'reconcilable' ? 'unknown' : this.gate().isClosed ? 'aborted' : 'failed');
    return this.ports.observer.duringCall(this.writer.head, { kind, safety, step, attempt }, send, outcomeOf, outcomeOfThrow);
  }

  private save<T>(entry: Entry, spec: CallSpec<T>, result: T): void {
    const sealed = this.seals.sealResult(entry, spec.keep ? spec.keep(result) : result);
    const used = spec.tokens?.used?.(result);
    this.move(entry, spec.failed?.(result) ? 'failed' : 'succeeded', {
      result: sealed,
      ...(spec.usage ? { usage: spec.usage(result) } : {}),
      ...(used === undefined ? {} : { used }),
    });
    entry.result = sealed;
    entry.own = true;
  }

  private async failed<T>(entry: Entry, spec: CallSpec<T>, send: Send<T>, error: unknown): Promise<CallOutcome<T>> {
    if (entry.safety === 'unproven') {
      this.giveUp(entry);
      if (this.gate().isClosed) throw error;
      if (entry.decided === null) throw new OutcomeUnknown(undefined, { cause: error });
      return this.call(spec, send);
    }
    if (this.gate().isClosed) throw error; // Still open: the end, or the next owner, says what becomes of it.
    return entry.safety === 'reconcilable' ? this.reconcile(entry, spec, send, { error }) : this.fail(entry, error);
  }

  private fail<T>(entry: Entry, error: unknown): CallOutcome<T> {
    const failure = this.ports.recordError(error, { context: this.writer.head.context, executionId: this.executionId, category: 'call_failed' });
    this.move(entry, 'failed', { category: failure.category, error: failure.errorId, ...(entry.lostUsage ? { usage: entry.lostUsage } : {}) });
    return { kind: 'failed', failure, attempt: entry.attempt };
  }

  /** The provider says what became of a call: its result is saved, or it is sent anew, or it is unknown. `own`: how this owner's own send failed. */
  private async reconcile<T>(entry: Entry, spec: CallSpec<T>, send: Send<T>, own: { readonly error: unknown } | null): Promise<CallOutcome<T>> {
    const context = { attempt: entry.attempt, providerKey: providerKeyOf(this.executionId, entry), signal: this.gate().signal };
    const about = { context: this.writer.head.context, executionId: this.executionId, category: 'reconcile_failed' };
    const answer = await askProvider(spec, context, (cause) => this.ports.recordError(cause, about));
    this.ports.reach('call:reconciled');
    if (answer.kind === 'done') {
      this.save(entry, spec, answer.result);
      return { kind: 'result', result: answer.result, attempt: entry.attempt, replayed: true };
    }
    if (answer.kind === 'unknown') this.giveUp(entry);
    else if (own) return this.fail(entry, own.error);
    else this.move(entry, 'abandoned', { unsent: true });
    return this.call(spec, send);
  }

  /** Its result is unknown. A decision that was saved with it is made here and now, so that nobody is asked. */
  private giveUp(entry: Entry): void {
    this.move(entry, 'unknown', { ...(entry.lostUsage ? { usage: entry.lostUsage } : {}), ...(entry.on_unknown ? { decided: entry.on_unknown } : {}) });
    entry.decided = entry.on_unknown;
  }

  private move(entry: Entry, to: Entry['state'], more: More = {}): void {
    const { usage, ...others } = more;
    this.writer.addCall({
      ...nameFields(entry),
      move: [entry.state],
      to,
      ...(entry.limited ? { limited: true } : {}),
      ...others,
      ...(usage ? { usage: countedOf(entry, usage) } : {}),
    });
    entry.state = to;
  }
}
