import type { SafeFailure } from '@domain/executions/failures.js';
import type { EndState, ExecutionState } from '@domain/executions/state.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { Parent } from './child.js';
import type { Stored } from './saga.js';

/** The head of a claimed execution, as this owner last saw it. Only its writer changes it. */
export type Head = {
  readonly id: string;
  readonly context: TenantContext & { readonly projectId: string };
  readonly workflow: string;
  /** Of the stored cursor, until the first commit of an owner that raises it. */
  version: number;
  /** The service whose work it is; a member's or nobody's is `null`. */
  readonly service: string | null;
  readonly memberId: string | null;
  readonly subjectId: string | null;
  readonly identityId: string | null;
  readonly parent: Parent | null;
  readonly generation: number;
  readonly owner: string;
  readonly epoch: string;
  readonly claimId: string;
  readonly waitUntil: Date | null;
  /** When its deadline or its budget is over by the database's clock, as far as was known at the claim. `null`: it has none, or it was told. */
  readonly expiresAt: Date | null;
  /** The W3C `traceparent` of what admitted the work. */
  readonly trace: string | null;
  state: ExecutionState;
  cursor: object;
  commitNumber: number;
  signalCount: number;
  cancelNumber: number;
  /** Takeovers without a commit; the first commit of this owner ends the count. */
  stalls: number;
  /** Attached children that have not ended. */
  openChildren: number;
  /** The end that waits for them, and its reason. */
  ending: EndState | null;
  failure: SafeFailure | null;
  /** Its time is over: said with the next commit, and for good. */
  expired: boolean;
};

/** Of new work since its admission, of a timer since its instant; of what a signal or a takeover made ready nobody stores when it became so. */
export type ReadyFor = { readonly since: 'admission' | 'instant'; readonly ms: number };

export type Claimed = { readonly head: Head; readonly claimedAt: Date; readonly startsRunning: boolean; readonly ready: ReadyFor | null };

export type ClaimRow = {
  id: string;
  organization_id: string;
  project_id: string;
  workflow: string;
  workflow_version: number;
  service: string | null;
  member_id: string | null;
  subject_id: string | null;
  identity_id: string | null;
  parent_id: string | null;
  attached: boolean;
  open_children: number;
  ending: EndState | null;
  failure_category: string | null;
  error_id: string | null;
  state: ExecutionState;
  cursor: object;
  generation: number;
  owner: string;
  epoch: string;
  claim_id: string;
  commit_number: number;
  signal_count: number;
  cancel_number: number;
  stalls: number;
  wait_until: Date | null;
  expired_at: Date | null;
  expires_at: Date | null;
  trace: string | null;
  created_at: Date;
  claimed_at: Date;
  was_runnable_at: Date | number;
  was_state: ExecutionState;
};

/** The driver gives an infinite instant as a number. */
function readyFor({ was_runnable_at: instant, claimed_at: claimedAt, created_at: createdAt, generation }: ClaimRow): ReadyFor | null {
  if (instant instanceof Date) return { since: 'instant', ms: claimedAt.getTime() - instant.getTime() };
  return generation === 1 ? { since: 'admission', ms: claimedAt.getTime() - createdAt.getTime() } : null;
}

export const toClaimed = (row: ClaimRow): Claimed => ({
  head: {
    id: row.id,
    context: { organizationId: row.organization_id, projectId: row.project_id },
    workflow: row.workflow,
    version: row.workflow_version,
    service: row.service,
    memberId: row.member_id,
    subjectId: row.subject_id,
    identityId: row.identity_id,
    parent: row.parent_id === null ? null : { id: row.parent_id, attached: row.attached },
    openChildren: row.open_children,
    ending: row.ending,
    failure: row.failure_category === null || row.error_id === null ? null : { category: row.failure_category, errorId: row.error_id },
    generation: row.generation,
    owner: row.owner,
    epoch: row.epoch,
    claimId: row.claim_id,
    stalls: row.stalls,
    waitUntil: row.wait_until,
    expiresAt: row.expires_at,
    expired: row.expired_at !== null,
    trace: row.trace,
    state: row.state,
    cursor: row.cursor,
    commitNumber: row.commit_number,
    signalCount: row.signal_count,
    cancelNumber: row.cancel_number,
  },
  claimedAt: row.claimed_at,
  startsRunning: row.was_state === 'queued' || row.was_state === 'waiting',
  ready: readyFor(row),
});

export const toStored = (head: Head, cursor: object): Stored<object> => ({
  id: head.id,
  context: head.context,
  workflow: head.workflow,
  state: head.state,
  cursor,
  generation: head.generation,
  subjectId: head.subjectId,
  identityId: head.identityId,
  parent: head.parent,
  openChildren: head.openChildren,
});
