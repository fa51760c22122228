import type { Result } from '@domain/result.js';
import type { SafeFailure } from '@domain/executions/failures.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { EngineObserver } from './observer.js';
import type { Tx } from './tx.js';

/** What the engine asks of its host. */
export interface EnginePorts {
  /** One transaction of the tenant; a failed Result rolls back; may run the work again after a deadlock. */
  transact<R extends Result<unknown, unknown>>(context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R>;
  /** Seals and saves a full cause in the background; answers at once what may be shown. */
  recordError(cause: unknown, about: { readonly context: TenantContext; readonly executionId: string; readonly category: string }): SafeFailure;
  /** An error's id as clients see it. */
  publicErrorId(errorId: string): string;
  /** Throws `OwnershipLost` once this node may no longer act: asked right before every send. */
  assertOwned(): void;
  /** A commit of this execution is durable: readers and other nodes may look. */
  published(executionId: string): void;
  /** A commit told something to the feed of its project: it is to be numbered. */
  told(): void;
  /** Places in shared limits are free: whoever waits for one may be let in. */
  placesFreed?(): void;
  /** A named point of the program, where recovery tests stop the process. */
  reach(point: string): void;
  /** Who measures and traces. */
  readonly observer: EngineObserver;
}
