import type { Result } from '@domain/result.js';

/** A physical thing by a name that every node would give it. */
export type Resource = { readonly kind: string; readonly name: string };

/** Somebody else holds it, or nobody knows: only `closed` frees it. */
export type ResourceHeld = {
  readonly _tag: 'ResourceHeld';
  readonly state: 'open' | 'closing' | 'close_failed' | 'unknown';
  readonly executionId: string;
  readonly node: string;
};

/** Whose thing it was when its owner went. */
export type LostLease = { readonly id: string; readonly executionId: string; readonly node: string; readonly epoch: string };

export type Physical<T> = {
  readonly open: (lease: string) => Promise<T>;
  /** Closes what `open` may have opened, also when that failed or did not answer; may be asked again. */
  readonly close: (lease: string) => Promise<void>;
  /** Whether what a lost owner held is certainly gone. That its node is missing proves nothing. */
  readonly proveReleased?: (lost: LostLease) => Promise<boolean>;
};

/** Closes in reverse order of registration. One that fails does not keep the others open, and is tried again. */
export interface RunScope {
  defer(name: string, close: () => Promise<void>): void;
  /** Opens a physical thing that one node holds at a time: its row is stored before it is opened, before it is closed, and when it is closed. */
  lease<T>(resource: Resource, physical: Physical<T>): Promise<Result<T, ResourceHeld>>;
}
