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

/** A claim as JSON: the driver reads one value of a row far sooner than forty. */
export type ClaimRow = {
  readonly head: StoredHead;
  readonly claimed_at: string;
  readonly was_runnable_at: string;
  readonly was_state: ExecutionState;
  readonly expires_at: string | null;
};

type StoredHead = {
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
  claim_id: string;
  commit_number: number;
  signal_count: number;
  cancel_number: number;
  stalls: number;
  wait_until: string | null;
  expired_at: string | null;
  trace: string | null;
  created_at: string;
};

const lastInstantMs = 8_640_000_000_000_000;

/** PostgreSQL writes a year as it is, and in its own time zone; a Date reads one beyond 9999 with a sign and six digits. What no Date can be is its last. */
function dateOf(instant: string | null): Date | null {
  if (instant === null) return null;
  const digits = instant.indexOf('-');
  const ms = Date.parse(digits > 4 ? `+${instant.slice(0, digits).padStart(6, '0')}${instant.slice(digits)}` : instant);
  return new Date(Number.isNaN(ms) ? lastInstantMs : ms);
}

const msBetween = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

function readyFor({ was_runnable_at: instant, claimed_at: claimedAt, head }: ClaimRow): ReadyFor | null {
  if (instant !== '-infinity') return { since: 'instant', ms: msBetween(instant, claimedAt) };
  return head.generation === 1 ? { since: 'admission', ms: msBetween(head.created_at, claimedAt) } : null;
}

/** `epoch` is the claimer's own: JSON has no number for every bigint. */
export const toClaimed = ({ head: row, ...claim }: ClaimRow, epoch: string): Claimed => ({
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
    epoch,
    claimId: row.claim_id,
    stalls: row.stalls,
    waitUntil: dateOf(row.wait_until),
    expiresAt: dateOf(claim.expires_at),
    expired: row.expired_at !== null,
    trace: row.trace,
    state: row.state,
    cursor: row.cursor,
    commitNumber: row.commit_number,
    signalCount: row.signal_count,
    cancelNumber: row.cancel_number,
  },
  claimedAt: new Date(claim.claimed_at),
  startsRunning: claim.was_state === 'queued' || claim.was_state === 'waiting',
  ready: readyFor({ head: row, ...claim }),
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
