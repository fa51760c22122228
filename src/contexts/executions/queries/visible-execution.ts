import type { ExecutionState } from '@domain/executions/state.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

export type ExecutionRow = {
  readonly id: string;
  readonly workflow: string;
  readonly state: ExecutionState;
  readonly generation: number;
  readonly sequence: number;
  readonly subject_id: string | null;
  readonly turn_id: string | null;
  readonly parent_id: string | null;
  readonly failure_category: string | null;
  readonly error_id: string | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
};

/**
 * The member's own work: nobody else's, also not to an owner, and no service's. A child is its parent's member's. What it fails with is said with its
 * end, not while it waits for its children.
 */
const select = `
  select id, workflow, state, generation, sequence, subject_id, cursor->>'turnId' as turn_id, parent_id,
    case when ended_at is not null then failure_category end as failure_category, case when ended_at is not null then error_id end as error_id, created_at, started_at, ended_at
  from execution where organization_id = tenant_organization() and project_id = tenant_project() and id = $1 and member_id = $2`;

export async function findVisibleExecution(tx: ReadTx, who: Pick<Identity, 'memberId'>, id: string): Promise<ExecutionRow | null> {
  const [row] = await tx.query<ExecutionRow[]>(select, [id, who.memberId]);
  return row ?? null;
}

/** A head, and the history of the database that it is of: a log is followed in that one. */
export type FollowableRow = ExecutionRow & { readonly timeline: string | null };

export async function findFollowableExecution(tx: ReadTx, who: Pick<Identity, 'memberId'>, id: string): Promise<FollowableRow | null> {
  const [row] = await tx.query<FollowableRow[]>(`select found.*, database_timeline() as timeline from (${select}) found`, [id, who.memberId]);
  return row ?? null;
}

/** Locks the head as every transaction does, after its receipt. */
export async function lockVisibleExecution(tx: Tx, who: Pick<Identity, 'memberId'>, id: string): Promise<ExecutionRow | null> {
  const [row] = await tx.query<ExecutionRow[]>(`${select} for no key update`, [id, who.memberId]);
  return row ?? null;
}
