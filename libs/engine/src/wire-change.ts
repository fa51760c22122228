import { hasEnded, type EndState, type ExecutionState } from '@domain/executions/state.js';
import type { SafeFailure } from '@domain/executions/failures.js';
import { toWireChild, type ChildEnded, type NewChild } from './child.js';
import type { CommitItem, WireCall, WireMove } from './commit-item.js';
import type { Head } from './head.js';
import type { FeatureRows } from './phase.js';
import type { OrganizationKey } from './sealing.js';

const wireFailure = (failure: SafeFailure | null | undefined) => (failure ? { category: failure.category, error: failure.errorId } : {});
export const wireRows = (rows: FeatureRows | undefined) => (rows ? { feature: rows.feature, aggregate: rows.aggregateId, rows: rows.rows } : {});
export const wireChildren = (children: readonly NewChild[] | undefined) => (children?.length ? { children: children.map(toWireChild) } : {});

/** Moves of calls that this owner knows the truth of. */
export const isKnown = (call: WireCall): call is WireMove => 'move' in call && (call.to === 'succeeded' || call.to === 'failed' || call.unsent === true);

/** What is stored of the cursor; with the owner's version where an older build wrote what is there, and then always. */
export function wireCursor(cursor: object | undefined, head: Head, raisesTo: number | null): Partial<CommitItem> {
  if (raisesTo !== null) return { version: raisesTo, cursor: cursor ?? head.cursor };
  return cursor ? { cursor } : {};
}

type Ending = { readonly ending?: EndState; readonly failure?: SafeFailure | null };

/** An end, or the one that waits for the children from here on. A child's is told to its parent. */
export function wireEnd({ ending, failure = null }: Ending, to: ExecutionState, { id, parent }: Head, key: OrganizationKey): Partial<CommitItem> {
  if (!hasEnded(to)) return ending ? { ending, ...wireFailure(failure) } : {};
  if (!parent) return wireFailure(failure);
  const body: ChildEnded = { child: id, attached: parent.attached, state: to, failure };
  const notice = key.seal({ table: 'execution_signal', record: parent.id }, JSON.stringify(body));
  return { parent: parent.id, notice: notice.toString('base64'), ...wireFailure(failure) };
}
