import type { EndState, ExecutionState } from '@domain/executions/state.js';
import type { CallPermit, CallSafety, CallTokens, CallUsage, GateRefusal } from './calls.js';

/** What happens to the ownership with a commit: kept, released until a signal or `until`, the same without a wait of the saga's own, handed over at once, or over. */
export type Release = 'keep' | 'wait' | 'park' | 'yield' | 'end';

export type WireEvent = { readonly t: string; readonly step?: number; readonly attempt?: number; readonly state?: string; readonly b?: string };

type CallName = { readonly step: number; readonly name: string; readonly attempt: number };
/** What the last gate asks for in the commit that marks a call as sending. */
export type WireGate = {
  readonly identity?: string;
  readonly permit?: CallPermit & { readonly timeoutMs: number };
  readonly tokens?: Omit<CallTokens<never>, 'used'>;
};
/** `attempt`: where the call is counted, when that is not the attempt which says so. */
export type WireUsage = CallUsage & { readonly attempt?: number };
export type WireMove = CallName & {
  readonly to: string;
  readonly move: readonly string[];
  readonly usage?: WireUsage;
  readonly result?: string;
  readonly category?: string;
  readonly error?: string;
  /** The decision that was saved with a call whose result is unknown now. */
  readonly decided?: 'stop' | 'retry';
  /** The owner knows that no byte was sent. */
  readonly unsent?: true;
  /** Limits are held for the call: its end gives them back. */
  readonly limited?: true;
  /** Of the tokens that it reserved. */
  readonly used?: number;
  readonly gate?: WireGate;
};
/** A new call, or a compare-and-set move of one that is there; a move that does not match refuses the whole commit. */
export type WireCall =
  | (CallName & {
      readonly to: string;
      readonly usage?: WireUsage;
      readonly kind: string;
      readonly safety: CallSafety;
      readonly key: string;
      readonly input?: string;
      readonly unknown?: 'stop' | 'retry';
      readonly limited?: true;
      readonly gate?: WireGate;
    })
  | WireMove;

/** Why the gate of an applied commit did not let its call out: never, or not yet. */
export type GateAnswer = { readonly refused: GateRefusal } | { readonly waits: true; readonly until?: string | null };

/** A child that a commit admits. Its parent, tenant and member are those of the fenced head. */
export type WireChild = {
  readonly id: string;
  readonly attached: boolean;
  readonly workflow: string;
  readonly version: number;
  readonly cursor: object;
  readonly subject: string | null;
  readonly identity: string | null;
  readonly ready: boolean;
};

/** What a hook notes of a named step. */
export type WireHook = { readonly hook: string; readonly at: string; readonly step: number; readonly name: string; readonly attempt: number; readonly body: string };

/** One commit as `commit_one` reads it. Bodies are sealed and base64. */
export type CommitItem = {
  readonly id: string;
  readonly g: number;
  readonly owner: string;
  readonly epoch: string;
  readonly claim: string;
  readonly n: number;
  readonly from: readonly ExecutionState[];
  readonly to: ExecutionState;
  readonly do: Release;
  readonly events: readonly WireEvent[];
  readonly cursor?: object;
  /** The owner's version, where an older build wrote what is stored: the cursor is then in its shape. */
  readonly version?: number;
  readonly notes?: readonly WireHook[];
  /** The `signal_count` last read: every commit that changes the state names it. */
  readonly seen?: number;
  readonly cancel?: number;
  readonly until?: string | null;
  /** Nothing that a crash after it would not undo: an opened call, text, a handover, a wait for a person. Stalls go on counting. */
  readonly idle?: true;
  /** A wait for a person: the work's time stands until it is claimed again. */
  readonly human?: true;
  /** The work's time is over, whatever a clock says later. */
  readonly expired?: true;
  readonly calls?: readonly WireCall[];
  readonly consume?: readonly { readonly name: string; readonly number: number }[];
  readonly feature?: string;
  readonly aggregate?: string;
  readonly rows?: object;
  readonly children?: readonly WireChild[];
  /** Of an end alone: the parent that it is told to, and the sealed body of the signal that tells it. */
  readonly parent?: string;
  readonly notice?: string;
  /** The end that waits for the children from here on. */
  readonly ending?: EndState;
  readonly category?: string | null;
  readonly error?: string | null;
};

/** `applied`: now; `already`: an earlier send of these bytes; `refused`: for good within this generation; `gone`: the work is deleted. */
export type CommitOutcome = 'applied' | 'already' | 'refused' | 'gone';
