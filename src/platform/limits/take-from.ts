import type { DataSource } from 'typeorm';
import type { OrganizationKey } from '@engine/sealing.js';

/** A bucket holds `limit` tokens, all of them at first, and gets them back evenly, `limit` in `windowMs`. Whole numbers above 0. */
export type Policy = { readonly limit: number; readonly windowMs: number };

export type Taken = {
  readonly allowed: boolean;
  /** Tokens that are left now. */
  readonly remaining: number;
  /** After this time without a take the bucket is full. */
  readonly resetMs: number;
  /** After this time the same take is allowed, if nobody else takes; 0 for one that is. */
  readonly retryAfterMs: number;
};

type Row = { readonly granted: number; readonly remaining: number; readonly reset_ms: number; readonly retry_after_ms: number };

/**
 * The name of what is limited: `kind` and who or where, which nobody reads from it. Of the installation's key, not of a tenant's: nobody may be known yet.
 * Putting another master key in front names all buckets anew, and so fills them once.
 */
export const bucketOf = (key: Pick<OrganizationKey, 'mac'>, kind: string, ...who: readonly string[]): Buffer => key.mac(`rate-limit\n${JSON.stringify([kind, ...who])}`);

/**
 * Takes `cost` tokens (1 unless it says so) or none, for every node of the installation at once. One statement in a transaction of its own, which does not
 * wait for the disk: so it is given the DataSource and never a `tx`. Throws where the database does not answer, and for a `cost` that no bucket of this
 * policy can hold.
 */
export async function takeFrom(db: DataSource, { bucket, policy, cost = 1 }: { readonly bucket: Buffer; readonly policy: Policy; readonly cost?: number }): Promise<Taken> {
  const { granted, ...taken } = await takeAhead(db, { bucket, policy, cost, ahead: 0, aheadMs: 0 });
  return { allowed: granted > 0, ...taken };
}

/**
 * As `takeFrom`, and where the first `cost` are there, up to `ahead` more that must be used within `aheadMs`: they are taken as if at the end of that
 * time, so that using them at any moment of it exceeds nothing. `granted` is 0, or `cost` and those.
 */
export async function takeAhead(
  db: DataSource,
  { bucket, policy, cost, ahead, aheadMs }: { readonly bucket: Buffer; readonly policy: Policy; readonly cost: number; readonly ahead: number; readonly aheadMs: number },
): Promise<Omit<Taken, 'allowed'> & { readonly granted: number }> {
  if (cost < 1 || cost > policy.limit) throw new RangeError(`a bucket of ${policy.limit} never gives ${cost}`);
  const [row] = await db.query<Row[]>('select granted, remaining, reset_ms, retry_after_ms from take_from_bucket($1, $2, $3, $4, $5, $6)', [
    bucket,
    policy.limit,
    policy.windowMs,
    cost,
    ahead,
    aheadMs,
  ]);
  if (!row) throw new Error('a bucket answered nothing');
  return { granted: row.granted, remaining: row.remaining, resetMs: row.reset_ms, retryAfterMs: row.retry_after_ms };
}
