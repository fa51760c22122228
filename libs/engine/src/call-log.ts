import type { CallOutcome, CallSafety, CallSpec, CallUsage, SendContext } from './calls.js';
import type { WireCall } from './commit-item.js';
import type { ExecutionWriter } from './execution-writer.js';
import type { EnginePorts } from './ports.js';
import type { OrganizationKey } from './sealing.js';

/** A call as `load_work` answers it. */
export type StoredCall = {
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
  readonly generation: number;
  readonly kind: string;
  readonly safety: CallSafety;
  readonly state: 'intent' | 'sending' | 'succeeded' | 'failed' | 'unknown' | 'abandoned';
  readonly decided: 'stop' | 'retry' | 'result' | null;
  readonly result: string | null;
  /** Of an open call alone: what it was saved with. */
  readonly input: string | null;
};

type Entry = Omit<StoredCall, 'state' | 'result' | 'input'> & { state: StoredCall['state']; result: string | null; lostUsage: CallUsage | null };

/** Saved with a call, for those who find it open: an owner that ends the work without asking again still counts what it may have cost. */
type SavedInput = { readonly input: unknown; readonly lostUsage: CallUsage | null };

/** A call's result is unknown and may not be repeated: the execution waits for a decision. */
export class OutcomeUnknown extends Error {}

const nameOf = (call: { readonly step: number; readonly name: string }): string => `${call.step}:${call.name}`;

/** The outside calls of one owned execution: latest attempt of each, and the only way to send. */
export class CallLog {
  private readonly latest = new Map<string, Entry>();

  constructor(
    private readonly executionId: string,
    private readonly writer: ExecutionWriter,
    private readonly key: OrganizationKey,
    private readonly ports: EnginePorts,
    /** The gate of the moment: a new one opens after what closed the last was read. */
    private readonly gate: () => AbortSignal,
  ) {}

  /**
   * Takes over what is stored. Of an attempt that this owner made itself it knows at least as much as the store. An unproven call that an
   * earlier owner was sending has an unknown result from here on.
   */
  restore(calls: readonly StoredCall[]): void {
    for (const call of calls) {
      const known = this.latest.get(nameOf(call));
      if (known?.attempt === call.attempt && call.decided === null) continue;
      const { input, ...stored } = call;
      const entry: Entry = { ...stored, lostUsage: null };
      entry.lostUsage = input === null ? null : this.openInput(entry, input).lostUsage;
      this.latest.set(nameOf(call), entry);
      if (call.safety === 'unproven' && call.state === 'sending') this.move(entry, 'unknown');
    }
  }

  /** Unknown calls that nobody has settled. */
  get undecided(): number {
    return [...this.latest.values()].filter((entry) => entry.state === 'unknown' && entry.decided === null).length;
  }

  async call<T>(spec: CallSpec<T>, send: (context: SendContext) => Promise<T>): Promise<CallOutcome<T>> {
    const previous = this.latest.get(nameOf(spec));
    const saved = previous && this.savedOutcome(previous, spec);
    if (saved) return saved;
    this.gate().throwIfAborted();
    const entry = await this.open(spec, previous);
    return this.send(entry, spec, send);
  }

  /**
   * Closes every open call for an end: what never left is abandoned, a lost repeatable one too (its usage stays unknown), a lost unproven one
   * is unknown. Answers how many still need a decision.
   */
  settle(): number {
    for (const entry of this.latest.values()) {
      if (entry.state === 'intent') this.move(entry, 'abandoned');
      else if (entry.state === 'sending') this.move(entry, entry.safety === 'unproven' ? 'unknown' : 'abandoned', entry.lostUsage ? { usage: entry.lostUsage } : {});
    }
    return this.undecided;
  }

  private savedOutcome<T>(entry: Entry, spec: CallSpec<T>): CallOutcome<T> | null {
    if (entry.state === 'unknown' && entry.decided === null) throw new OutcomeUnknown();
    if (entry.state === 'unknown' && entry.decided === 'stop') return { kind: 'stopped', attempt: entry.attempt };
    const counts = entry.state === 'succeeded' || (entry.state === 'failed' && entry.attempt > (spec.consumed ?? 0));
    if (!counts || entry.result === null) return null;
    const text = this.key.open(this.binding(entry, 'result'), Buffer.from(entry.result, 'base64')).toString('utf8');
    return { kind: 'result', result: JSON.parse(text) as T, attempt: entry.attempt, replayed: true };
  }

  private async open<T>(spec: CallSpec<T>, previous: Entry | undefined): Promise<Entry> {
    if (previous?.state === 'intent') return this.passGate(previous);
    if (previous?.state === 'sending' && previous.safety === 'unproven') {
      this.move(previous, 'unknown');
      throw new OutcomeUnknown();
    }
    // An earlier attempt that nobody can finish any more: its usage is unknown, never zero.
    if (previous?.state === 'sending') this.move(previous, 'abandoned', spec.lostUsage ? { usage: spec.lostUsage } : {});
    const attempt = (previous?.attempt ?? 0) + 1;
    const unproven = spec.safety === 'unproven';
    const entry: Entry = {
      step: spec.step,
      name: spec.name,
      attempt,
      generation: this.writer.head.generation,
      kind: spec.kind,
      safety: spec.safety,
      state: unproven ? 'intent' : 'sending',
      decided: null,
      result: null,
      lostUsage: spec.lostUsage ?? null,
    };
    const opened: WireCall = {
      step: spec.step,
      name: spec.name,
      attempt,
      kind: spec.kind,
      safety: spec.safety,
      key: this.providerKey(entry),
      to: entry.state,
      ...this.sealInput(entry, spec),
    };
    await this.writer.write({ calls: [opened] });
    this.latest.set(nameOf(spec), entry);
    this.ports.reach(`call:${entry.state}`);
    return unproven ? this.passGate(entry) : entry;
  }

  /** The last gate: a numbered commit of its own that names the state and the cancel number, so that an accepted cancel precedes every later send. */
  private async passGate(entry: Entry): Promise<Entry> {
    const gate: WireCall = { ...this.nameFields(entry), move: ['intent'], to: 'sending' };
    await this.writer.write({ calls: [gate] });
    entry.state = 'sending';
    this.ports.reach('call:sending');
    return entry;
  }

  private async send<T>(entry: Entry, spec: CallSpec<T>, send: (context: SendContext) => Promise<T>): Promise<CallOutcome<T>> {
    try {
      this.ports.assertOwned();
      this.gate().throwIfAborted();
    } catch (error) {
      this.move(entry, 'abandoned'); // No byte was sent, and this owner knows it.
      throw error;
    }
    this.ports.reach('call:before-send');
    let result: T;
    try {
      result = await send({ attempt: entry.attempt, providerKey: this.providerKey(entry), signal: this.gate() });
    } catch (error) {
      return this.failed(entry, error);
    }
    this.ports.reach('call:result-known');
    const failed = spec.failed?.(result) ?? false;
    const kept = spec.keep ? spec.keep(result) : result;
    const sealed = this.key.seal(this.binding(entry, 'result'), JSON.stringify(kept ?? null)).toString('base64');
    this.move(entry, failed ? 'failed' : 'succeeded', { result: sealed, ...(spec.usage ? { usage: spec.usage(result) } : {}) });
    entry.result = sealed;
    return { kind: 'result', result, attempt: entry.attempt, replayed: false };
  }

  private failed<T>(entry: Entry, error: unknown): CallOutcome<T> {
    if (entry.safety === 'unproven') {
      this.move(entry, 'unknown');
      throw this.gate().aborted ? error : new OutcomeUnknown(undefined, { cause: error });
    }
    if (this.gate().aborted) throw error; // Still open: the end, or the next owner, says what becomes of it.
    const failure = this.ports.recordError(error, { context: this.writer.head.context, executionId: this.executionId, category: 'call_failed' });
    this.move(entry, 'failed', { category: failure.category, error: failure.errorId, ...(entry.lostUsage ? { usage: entry.lostUsage } : {}) });
    return { kind: 'failed', failure, attempt: entry.attempt };
  }

  private move(entry: Entry, to: Entry['state'], more: { result?: string; category?: string; error?: string; usage?: CallUsage } = {}): void {
    this.writer.addCall({ ...this.nameFields(entry), move: [entry.state], to, ...more });
    entry.state = to;
  }

  private sealInput(entry: Entry, { input, lostUsage }: Pick<CallSpec<unknown>, 'input' | 'lostUsage'>): { input?: string } {
    if (input === undefined && lostUsage === undefined) return {};
    const saved: SavedInput = { input: input ?? null, lostUsage: lostUsage ?? null };
    return { input: this.key.seal(this.binding(entry, 'input'), JSON.stringify(saved)).toString('base64') };
  }

  private openInput = (entry: Entry, sealed: string): SavedInput =>
    JSON.parse(this.key.open(this.binding(entry, 'input'), Buffer.from(sealed, 'base64')).toString('utf8')) as SavedInput;

  private nameFields = (entry: Entry): { step: number; name: string; attempt: number } => ({ step: entry.step, name: entry.name, attempt: entry.attempt });

  private providerKey = (entry: Entry): string => `${this.executionId}:${entry.step}:${entry.name}`;

  private binding = (entry: Entry, part: 'input' | 'result') => ({ table: 'execution_call', record: `${this.executionId}:${entry.step}:${entry.name}:${entry.attempt}:${part}` });
}
