import { v5 as uuidv5 } from 'uuid';
import type { SafeFailure } from '@domain/executions/failures.js';
import type { EndState, ExecutionState } from '@domain/executions/state.js';
import type { WireChild } from './commit-item.js';

/** An attached child is waited for, and stops with its parent; a detached one outlives it. */
export type Parent = { readonly id: string; readonly attached: boolean };
/** The parent at its child's end, held by that transaction. `null` as state: it is gone. */
export type LockedParent = Parent & { readonly state: ExecutionState | null };

/** Work that a phase admits below its own execution, in its tenant and as its member's. */
export type NewChild = {
  /** The same whenever the phase runs again: saved in the cursor before, or made by `childIdOf`. */
  readonly id: string;
  readonly attached: boolean;
  readonly workflow: string;
  readonly version: number;
  readonly cursor: object;
  readonly subjectId: string | null;
  readonly identityId: string | null;
  /** `false`: it waits until `makeReady` says that it may start. Default `true`. */
  readonly ready?: boolean;
};

/** The id of the child that its parent calls by this name: every owner of the parent derives the same. */
export const childIdOf = (parentId: string, name: string): string => uuidv5(name, parentId);

export const toWireChild = (child: NewChild): WireChild => ({
  id: child.id,
  attached: child.attached,
  workflow: child.workflow,
  version: child.version,
  cursor: child.cursor,
  subject: child.subjectId,
  identity: child.identityId,
  ready: child.ready ?? true,
});

/** The body of the signal that a child's end sends. Failing for the child's sake hands on its failure: the first error id is kept. */
export type ChildEnded = { readonly child: string; readonly attached: boolean; readonly state: EndState; readonly failure: SafeFailure | null };

/** The ends of children among these signals, in the order of their coming. */
export const childrenEnded = (signals: readonly { readonly name: string; readonly body: unknown }[]): ChildEnded[] =>
  signals.filter(({ name }) => name === 'child-ended').map(({ body }) => body as ChildEnded);
