import { SetMetadata } from '@nestjs/common';
import type { EndState, ExecutionState } from '@domain/executions/state.js';
import type { SafeFailure } from '@domain/executions/failures.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { LockedParent, Parent } from './child.js';
import { serviceWorkflow, type ServiceIdentity } from './service-identity.js';
import type { Tx } from './tx.js';

/** What is stored of an execution, as its saga and phases see it. `cursor` is small and safe to read: ids, counters, flags. */
export type Stored<Cursor> = {
  readonly id: string;
  readonly context: TenantContext & { readonly projectId: string };
  readonly workflow: string;
  readonly state: ExecutionState;
  readonly cursor: Cursor;
  /** The number of the current owner; taking over adds one. */
  readonly generation: number;
  /** The business resource that the execution belongs to. */
  readonly subjectId: string | null;
  /** The sealed ExecutionIdentity that the work acts with. */
  readonly identityId: string | null;
  /** The execution that admitted it, and whether that one waits for it. */
  readonly parent: Parent | null;
  /** Attached children that have not ended yet. Each end comes as the signal `child-ended`. */
  readonly openChildren: number;
};

export type Signal = { readonly name: string; readonly number: number; readonly body: unknown };

/**
 * What woke the execution, read right after the claim. `now` is the database's clock; `due`: the last wait's `until` has passed; `expired`: the
 * execution's deadline or its time budget is over.
 */
export type Wake = { readonly now: Date; readonly due: boolean; readonly expired: boolean; readonly signals: readonly Signal[] };

/** A phase is a command on the bus; its handler gets the open `PhaseRun` as `run`. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- phases differ in their cursor and arguments
export type CommandClass = new (run: any, args: any) => object;

/** A wait for a person costs no time of a budget. */
export type WaitedFor = 'decision';

export type Next =
  | { readonly kind: 'phase'; readonly command: CommandClass; readonly args: unknown }
  | { readonly kind: 'wait'; readonly until: Date | null; readonly for: WaitedFor | null }
  | { readonly kind: 'end'; readonly as: EndState; readonly failure: SafeFailure | null };

/** Runs `new command(run, args)` on the command bus. */
export const phase = (command: CommandClass, args?: unknown): Next => ({ kind: 'phase', command, args });
/** Releases the execution until a signal comes, or until `until` on the database's clock. */
export const wait = (options: { readonly until?: Date; readonly for?: WaitedFor } = {}): Next => ({ kind: 'wait', until: options.until ?? null, for: options.for ?? null });
/**
 * While attached children are open, `completed` waits for them, and asks `next` again at each of their ends; `failed` and `interrupted` ask them to
 * stop, once, and wait: the reason stays, and `next` is not asked any more.
 */
export const end = (as: EndState, failure: SafeFailure | null = null): Next => ({ kind: 'end', as, failure });

/** Rows to lock before heads, by feature: `feature_lock_<feature>` locks them in id order. */
export type Aggregate = { readonly feature: string; readonly id: string };

export type Outcome = { readonly as: EndState; readonly failure: SafeFailure | null };

/**
 * One feature's workflow. The engine owns recovery, generations, cancellation and gates; the saga only says what comes next.
 * A saga without `end` ends in a grouped commit; one with `end` in a transaction that holds its `aggregates` and the `heads` it names. So does a
 * child: with its parent's head, so that its end, its notice and the parent's signal are one.
 */
export interface Saga<Cursor> {
  /** Pure: what is stored and what woke it decide; a new owner decides the same. */
  next(stored: Stored<Cursor>, wake: Wake): Next;
  /** Asked instead of `next` once the execution's time is over. Without it, the work ends as failed, `deadline_exceeded`. */
  expired?(stored: Stored<Cursor>, wake: Wake): Next;
  /**
   * The cursor of an older version that this one reads, in today's shape. Pure; the first commit stores it together with the version, so that
   * from there on no older build claims the work.
   */
  upgrade?(cursor: object, from: number): Cursor;
  /** Aggregates that `end` writes, locked before any head. */
  aggregates?(stored: Stored<Cursor>): readonly Aggregate[];
  /** Named from what is locked: every other execution whose head `end` will touch. */
  heads?(tx: Tx, stored: Stored<Cursor>, outcome: Outcome): Promise<readonly string[]>;
  /**
   * Saves the feature's own end in the transaction that ends the execution. Awaits only statements on `tx`; locks nothing more. A child's notice to
   * its parent is written here: `parent` is held, and one that has ended takes the notice as history, that starts nothing. `null`: there is none.
   */
  end?(tx: Tx, stored: Stored<Cursor>, outcome: Outcome, parent: LockedParent | null): Promise<void>;
}

/** A service's workflow: `service` is asked for its right when an owner takes the work up, and again before every send. */
export interface ServiceSaga<Cursor> extends Saga<Cursor> {
  mayAct(identity: ServiceIdentity): Promise<boolean>;
}

export type WorkflowOptions = {
  readonly name: string;
  readonly version: number;
  /** Older versions that this build goes on with. */
  readonly reads?: readonly number[];
  readonly service?: string;
};
export const workflowMetadata = 'openbot:workflow';
/** Registers a provider as the saga of stored work. `version` names the shape of its cursor: other builds leave unknown versions alone. */
export const Workflow = (name: string, options: Omit<WorkflowOptions, 'name' | 'service'>): ClassDecorator =>
  SetMetadata(workflowMetadata, { name, ...options } satisfies WorkflowOptions);
/** As `Workflow`, for work that a service does: members cannot admit it, and it is shown to none. */
export const ServiceWorkflow = (
  service: string,
  name: string,
  options: Omit<WorkflowOptions, 'name' | 'service'>,
): (<T extends new (...args: never[]) => ServiceSaga<never>>(target: T) => void) =>
  SetMetadata(workflowMetadata, { name: serviceWorkflow(service, name), service, ...options } satisfies WorkflowOptions);
