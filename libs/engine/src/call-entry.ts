import type { CallSafety, CallUsage } from './calls.js';
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
  readonly late: boolean;
  /** The decision that was saved with the call for the case that its result is lost; `null` asks a person. */
  readonly on_unknown: 'stop' | 'retry' | null;
  /** Whether it takes part in shared limits. */
  readonly limited: boolean;
  readonly decided: 'stop' | 'retry' | 'result' | null;
  readonly result: string | null;
  /** Of an open call alone: what it was saved with. */
  readonly input: string | null;
};

/** The latest attempt of a call, as its owner knows it. */
export type Entry = Omit<StoredCall, 'state' | 'decided' | 'result' | 'input'> & {
  state: StoredCall['state'];
  decided: StoredCall['decided'];
  result: string | null;
  lostUsage: CallUsage | null;
  /** This owner opened it, or got its result: it knows at least as much as the store. */
  own: boolean;
};

/** Saved with a call, for those who find it open: an owner that ends the work without asking again still counts what it may have cost. */
export type SavedInput = { readonly input: unknown; readonly lostUsage: CallUsage | null };

/** A call's result is unknown and may not be repeated: the execution waits for a decision. */
export class OutcomeUnknown extends Error {}

/** A call has to wait for its place, or until an instant for its tokens: its work waits, owned by nobody. */
export class CallWaits extends Error {
  constructor(readonly until: Date | null) {
    super('a call waits for its limit');
  }
}

type Named = { readonly step: number; readonly name: string; readonly attempt: number };

export const nameOf = (call: Pick<Named, 'step' | 'name'>): string => `${call.step}:${call.name}`;
export const nameFields = ({ step, name, attempt }: Named): Named => ({ step, name, attempt });

/** The key that the provider knows a call by: the same for each attempt and every owner. */
export const providerKeyOf = (executionId: string, call: Pick<Named, 'step' | 'name'>): string => `${executionId}:${nameOf(call)}`;

/** Seals what goes out with a call and what comes back, bound to the attempt. */
export class CallSeals {
  constructor(
    private readonly executionId: string,
    private readonly key: OrganizationKey,
  ) {}

  sealInput(entry: Named, input: unknown, lostUsage: CallUsage | undefined): { input?: string } {
    if (input === undefined && lostUsage === undefined) return {};
    return { input: this.seal(entry, 'input', { input: input ?? null, lostUsage: lostUsage ?? null } satisfies SavedInput) };
  }

  openInput = (entry: Named, sealed: string): SavedInput => this.open(entry, 'input', sealed) as SavedInput;
  sealResult = (entry: Named, result: unknown): string => this.seal(entry, 'result', result ?? null);
  openResult = (entry: Named, sealed: string): unknown => this.open(entry, 'result', sealed);

  private seal = (entry: Named, part: 'input' | 'result', value: unknown): string => this.key.seal(this.binding(entry, part), JSON.stringify(value)).toString('base64');
  private open = (entry: Named, part: 'input' | 'result', sealed: string): unknown =>
    JSON.parse(this.key.open(this.binding(entry, part), Buffer.from(sealed, 'base64')).toString('utf8'));
  private binding = ({ step, name, attempt }: Named, part: 'input' | 'result') => ({
    table: 'execution_call',
    record: `${this.executionId}:${step}:${name}:${attempt}:${part}`,
  });
}
