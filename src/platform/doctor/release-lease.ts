import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { fail, ok, type Result } from '@domain/result.js';

/** What a node holds of the outside world, as the database says it. */
export type LeaseRow = {
  readonly id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly kind: string;
  readonly resource: string;
  readonly execution_id: string;
  readonly owner: string;
  readonly state: 'open' | 'closing' | 'closed' | 'close_failed' | 'unknown';
  readonly error_id: string | null;
  readonly opened_at: Date;
  readonly closing_at: Date | null;
  readonly closed_at: Date | null;
  readonly released_by: string | null;
  /** The process that opened it is on this database: it may close it yet. */
  readonly holder_lives: boolean;
};

/** Why a person's word was not taken. `LeaseClosed`: somebody else closed it, or said so, before. */
export type ReleaseFailure =
  { readonly _tag: 'LeaseNotFound' } | { readonly _tag: 'LeaseHeld'; readonly node: string } | { readonly _tag: 'LeaseClosed'; readonly releasedBy: string | null };

export async function findLease(client: Client, id: string): Promise<LeaseRow | null> {
  return (await client.query<LeaseRow>('select * from find_lease($1)', [id])).rows[0] ?? null;
}

/**
 * Takes a person's word that the thing is gone. Its holder is looked for during a whole lease first: one that lives, and has only lost its connection, takes
 * its name again within that, or stops. The last look and the word are one transaction; said twice by the same person it is said once.
 */
export async function releaseLease(client: Client, leaseMs: number, id: string, by: string): Promise<Result<LeaseRow, ReleaseFailure>> {
  const startedAt = performance.now();
  for (;;) {
    const lease = await findLease(client, id);
    if (!lease) return fail({ _tag: 'LeaseNotFound' });
    if (lease.holder_lives) return fail({ _tag: 'LeaseHeld', node: lease.owner });
    if (lease.state !== 'closed' && performance.now() - startedAt < leaseMs) {
      await pause(Math.min(250, leaseMs / 10));
      continue;
    }
    const values = [lease.organization_id, lease.project_id, id, by];
    const { rows } = await client.query<{ outcome: 'released' | 'closed' | 'held' | 'gone' }>('select release_lease($1, $2, $3, $4) as outcome', values);
    const now = await findLease(client, id);
    if (!now || rows[0]?.outcome === 'gone') return fail({ _tag: 'LeaseNotFound' });
    if (rows[0]?.outcome === 'held') return fail({ _tag: 'LeaseHeld', node: now.owner });
    return rows[0]?.outcome === 'released' ? ok(now) : fail({ _tag: 'LeaseClosed', releasedBy: now.released_by });
  }
}
