import type { Result } from '@domain/result.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { CallOutcome, CallSpec, SendContext } from './calls.js';
import type { NewChild } from './child.js';
import type { RunScope } from './run-scope.js';
import type { Aggregate, Stored, Wake } from './saga.js';
import type { Tx } from './tx.js';

/** Rows of a feature, written by its plpgsql function `feature_rows_<feature>(head, subject, rows)` inside the commit. */
export type FeatureRows = { readonly feature: string; readonly aggregateId: string; readonly rows: object };

export type Locks = {
  readonly aggregates?: readonly Aggregate[];
  /** Named from what is locked: every other head that `write` will touch. */
  readonly heads?: (tx: Tx) => Promise<readonly string[]>;
};

/** An owned, fenced run of one phase. */
export interface PhaseRun<Cursor = unknown> {
  readonly execution: Stored<Cursor>;
  readonly wake: Wake;
  /** Aborts on cancel, lost ownership and shutdown. The gate closes first: no call starts once it has. */
  readonly signal: AbortSignal;
  /** Resources that close in reverse order before the phase ends or waits. */
  readonly scope: RunScope;
  /** What the fiber keeps between phases of one claim: a cache that a new owner starts without, never a store. */
  readonly kept: Map<string, unknown>;
  /** Performs an outside call as its safety demands: saved intent, last gate, send, saved result. A saved result is returned without a send. */
  call<T>(spec: CallSpec<T>, send: (context: SendContext) => Promise<T>): Promise<CallOutcome<T>>;
  /** Events of the next commit. Text is flushed by itself every 50 ms or 1 KiB. */
  emit(...events: readonly ExecutionEventBody[]): void;
  /** One transaction, as data: cursor, emitted events, call results, a feature's rows, children that it admits; grouped with other executions' commits. Durable when it resolves. */
  commit(cursor: Cursor, rows?: FeatureRows, children?: readonly NewChild[]): Promise<void>;
  /** As `commit`, for a phase's last one: it is written after the phase's resources have closed, joined with the next phase's first call. One with children is written at once. */
  finish(cursor: Cursor, rows?: FeatureRows, children?: readonly NewChild[]): void;
  /** The ungrouped commit, for what must read and decide: locks the aggregates, then all heads by id, fences, runs `write`. May run `write` again. */
  transact(cursor: Cursor, locks: Locks, write: (tx: Tx) => Promise<void>): Promise<void>;
  /** Admits a child inside `transact`'s `write`; answers its id. */
  admit(tx: Tx, child: NewChild): Promise<string>;
}

/** What a phase's handler answers. A failed Result ends the execution as failed with the tag as category. */
export type PhaseResult<F extends { readonly _tag: string } = never> = Promise<Result<void, F>>;
