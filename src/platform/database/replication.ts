import type { Pool } from 'pg';
import type { ReadTx } from '@engine/tx.js';

/**
 * `ok`: a commit is acknowledged only when a standby has it, so that a failover loses nothing. `asynchronous`: there are standbys, and a failover to
 * one loses what it has not received. `single`: there is no standby to fail over to.
 */
export type ReplicationStatus = 'ok' | 'asynchronous' | 'single';
export type Replication = {
  readonly status: ReplicationStatus;
  readonly standbys: number;
  /** Standbys that commits wait for now; `null` where the database shows it to nobody but monitoring roles. */
  readonly synchronous: number | null;
};

/** Whether commits of this login are replicated synchronously: see docs/failover.md. */
export async function readReplication(db: Pick<Pool, 'query'>): Promise<Replication> {
  const { rows } = await db.query<Replication>('select status, standbys, synchronous from replication_status()');
  const [found] = rows;
  if (!found) throw new Error('replication_status answered no row');
  return found;
}

/** A standby was asked: what it lacks may be on the primary. Passes as soon as the connection leads to the primary again. */
export class StandbyAsked extends Error {
  readonly code = '25006';
}

/** Before an answer that rests on what is not there. */
export async function refuseStandby(tx: ReadTx): Promise<void> {
  const [row] = await tx.query<{ standby: boolean }[]>('select pg_is_in_recovery() as standby');
  if (row?.standby) throw new StandbyAsked('the connection leads to a standby');
}
