import type { ExecutionState } from '@domain/executions/state.js';
import type { CallSafety } from './calls.js';
import type { CommitOutcome, Release } from './commit-item.js';
import type { Head, ReadyFor } from './head.js';

export type ObservedCall = { readonly kind: string; readonly safety: CallSafety; readonly step: number; readonly attempt: number };
/** `failed`: the provider proved that nothing happened, or a repeatable call threw. `unknown`: one that may not be repeated threw. `aborted`: its gate had closed. */
export type ObservedOutcome = 'succeeded' | 'failed' | 'unknown' | 'aborted';
export type ObservedCommit = {
  readonly number: number;
  readonly state: ExecutionState;
  readonly release: Release;
  readonly events: number;
  readonly outcome: CommitOutcome;
};

/**
 * What the engine tells whoever measures and traces it. It stands on the path of every step: it returns at once, throws nothing, and gets ids, names
 * and numbers only. The `during` methods run the work that they are about, once.
 */
export interface EngineObserver {
  claimed(head: Head, ready: ReadyFor | null): void;
  /** From a claim to its release. */
  duringRun<T>(head: Head, work: () => Promise<T>): Promise<T>;
  duringPhase<T>(head: Head, phase: string, work: () => Promise<T>): Promise<T>;
  duringCall<T>(head: Head, call: ObservedCall, work: () => Promise<T>, outcomeOf: (result: T) => ObservedOutcome, outcomeOfThrow: () => ObservedOutcome): Promise<T>;
  /** The database's answer to a numbered commit, grouped or in a transaction of its own. */
  committed(head: Head, commit: ObservedCommit): void;
  /** One statement of the group commit: `ms` until it was answered, `null` when it was not. */
  sent(path: 'grouped' | 'alone' | 'resent', items: number, ms: number | null): void;
  /** Rows taken from an owner that is gone, or from this node itself where it owned but did not run them. */
  tookOver(from: 'expired' | 'own-name' | 'orphan', count: number): void;
  lostLease(): void;
}

export const unobserved: EngineObserver = {
  claimed: () => undefined,
  duringRun: (_head, work) => work(),
  duringPhase: (_head, _phase, work) => work(),
  duringCall: (_head, _call, work) => work(),
  committed: () => undefined,
  sent: () => undefined,
  tookOver: () => undefined,
  lostLease: () => undefined,
};

const around = <T>(observers: readonly EngineObserver[], work: () => Promise<T>, one: (observer: EngineObserver, inner: () => Promise<T>) => Promise<T>): Promise<T> =>
  observers.reduceRight<() => Promise<T>>((inner, observer) => () => one(observer, inner), work)();

/** All of them see everything; the first is outermost. */
export function observedBy(observers: readonly EngineObserver[]): EngineObserver {
  const [only] = observers;
  if (observers.length <= 1) return only ?? unobserved;
  return {
    claimed: (...about) => observers.forEach((observer) => observer.claimed(...about)),
    duringRun: (head, work) => around(observers, work, (observer, inner) => observer.duringRun(head, inner)),
    duringPhase: (head, phase, work) => around(observers, work, (observer, inner) => observer.duringPhase(head, phase, inner)),
    duringCall: (head, call, work, ...outcomes) => around(observers, work, (observer, inner) => observer.duringCall(head, call, inner, ...outcomes)),
    committed: (...about) => observers.forEach((observer) => observer.committed(...about)),
    sent: (...about) => observers.forEach((observer) => observer.sent(...about)),
    tookOver: (...about) => observers.forEach((observer) => observer.tookOver(...about)),
    lostLease: () => observers.forEach((observer) => observer.lostLease()),
  };
}
