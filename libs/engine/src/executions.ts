import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { ExecutionState } from '@domain/executions/state.js';
import { eventBinding, sealEvent } from './events.js';
import { assertWhole, attachedBelow, stop } from './cascade.js';
import type { OrganizationKey } from './sealing.js';
import type { Tx } from './tx.js';

/**
 * Locks heads in the one order that every transaction uses: receipts, then aggregates, then heads by id in one statement. Returns what exists.
 * Whoever will touch several heads names them all here.
 */
export async function lockHeads(tx: Tx, ids: readonly string[]): Promise<readonly { id: string; state: ExecutionState; sequence: number; signal_count: number }[]> {
  return tx.query(`select id, state, sequence, signal_count from execution where id = any ($1::uuid[]) order by id for no key update`, [[...new Set(ids)]]);
}

export type Cancelled = { readonly number: number; readonly state: ExecutionState; readonly sequence: number; readonly touched: readonly string[] };

/**
 * Asks for a stop, also of the attached work below, of any depth: each gets its number, its signal and `cancelling` in this transaction. Locks all of
 * them in one statement, so the caller holds no head yet, and publishes `touched` after the commit. Ended work stays as it is; `null`: there is no
 * such execution in this tenant. Throws `FamilyGrew`, after which `transact` runs the work again.
 */
export async function requestCancel(tx: Tx, id: string): Promise<Cancelled | null> {
  const touched = [id, ...(await attachedBelow(tx, [id]))];
  await lockHeads(tx, touched);
  await assertWhole(tx, touched);
  const rows = await stop(tx, touched);
  const asked = rows.find((row) => row.id === id);
  return asked ? { number: asked.number, state: asked.state, sequence: asked.sequence, touched } : null;
}

/**
 * Takes the right to act from an identity, for good: no gate that commits later lets out a call of its work, on any node. Before the heads of work
 * that the same transaction stops. `false`: it was revoked before.
 */
export async function revokeIdentity(tx: Tx, identityId: string): Promise<boolean> {
  const [row] = (await tx.query(`select revoke_identity($1) as revoked`, [identityId])) as { revoked: boolean }[];
  return row?.revoked ?? false;
}

/** Before work is admitted that acts for a member with an identity of its own, and before any head: from here on nobody takes the member's rights unseen. */
export async function holdMember(tx: Tx, memberId: string): Promise<void> {
  await tx.query(`select hold_member($1)`, [memberId]);
}

/** Whose work: all of `members`, and of `others` what was begun with one of `credentials`, as `saveIdentity` noted it, or is below that. */
export type RevokedWork = {
  readonly members: readonly string[];
  readonly others?: readonly string[];
  readonly credentials?: readonly string[];
  readonly projects: readonly string[];
};

/**
 * Takes the right to act in these projects. Every identity of that open work is revoked as by `revokeIdentity`, and the work is asked to stop, whether it
 * runs, waits or is queued: it ends as failed, `identity_revoked`. The caller holds no head. Answers what to publish after the commit.
 */
export async function revokeWork(tx: Tx, { members, others = [], credentials = [], projects }: RevokedWork): Promise<readonly string[]> {
  const values = [members, others, credentials, projects];
  const [row] = (await tx.query(`select revoke_work_of($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) as touched`, values)) as { touched: string[] }[];
  return row?.touched ?? [];
}

/**
 * Stops up to `limit` open works of a project in which nothing begins any more, whoever they act for: they end as failed, `identity_revoked`. Calls whose
 * outcome is unknown end without it, because nobody can decide any more. The caller holds no head. `touched` is what to publish after the commit.
 */
export async function stopProjectWork(
  tx: Tx,
  projectId: string,
  limit: number,
): Promise<{ readonly touched: readonly string[]; readonly settled: number; readonly open: boolean }> {
  const [row] = (await tx.query(`select o_touched as touched, o_settled as settled, o_open as open from stop_project_work($1, $2)`, [projectId, limit])) as {
    touched: string[];
    settled: number;
    open: boolean;
  }[];
  if (!row) throw new Error('stop_project_work answered no row');
  return row;
}

/** Sends a signal: the head is locked first. Without a number it takes the next of its name. `null`: it was sent before, or the work is gone. */
export async function sendSignal(tx: Tx, id: string, signal: { readonly name: string; readonly number?: number; readonly body?: Buffer }): Promise<number | null> {
  const [row] = (await tx.query(`select send_signal($1, $2, $3, $4) as number`, [id, signal.name, signal.number ?? null, signal.body ?? null])) as { number: number | null }[];
  return row?.number ?? null;
}

/** Appends an event to the log of a head that the caller holds; answers its sequence. */
export async function appendEvent(tx: Tx, key: OrganizationKey, id: string, event: ExecutionEventBody): Promise<number> {
  const state = event._tag === 'State' ? event.state : null;
  const [row] = (await tx.query(`select append_event($1, $2, $3, $4) as sequence`, [id, event._tag, state, sealEvent(key, eventBinding(id, event._tag, null), event)])) as {
    sequence: number;
  }[];
  if (!row) throw new Error('append_event answered no row');
  return row.sequence;
}

/** Lets waiting work start: what another execution's end makes ready. The caller holds the head. */
export async function makeReady(tx: Tx, id: string): Promise<void> {
  await tx.query(`select make_ready($1)`, [id]);
}
