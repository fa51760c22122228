import type { ReadTx, Tx } from '@engine/tx.js';
import { provesToken, type ParsedToken } from '@platform/identity/credential-text.js';

export type AttemptRow = {
  readonly id: string;
  readonly provider_id: string;
  readonly hash: Buffer;
  readonly browser: Buffer;
  readonly sealed: Buffer;
  readonly return_to: string;
  readonly is_over: boolean;
  readonly is_used: boolean;
};

/** The attempt that a state names, whatever became of it. */
export async function findAttempt(tx: ReadTx | Tx, { prefix, hash }: ParsedToken, lock: '' | 'for no key update' = ''): Promise<AttemptRow | null> {
  const rows = await tx.query<AttemptRow[]>(
    `select id, provider_id, hash, browser, sealed, return_to, expires_at <= clock_timestamp() as is_over, used_at is not null as is_used
     from sign_in_attempt where organization_id = tenant_organization() and prefix = $1 ${lock}`,
    [prefix],
  );
  return rows.find((row) => provesToken(row.hash, hash)) ?? null;
}

type NewAttempt = {
  readonly id: string;
  readonly providerId: string;
  readonly prefix: string;
  readonly hash: Buffer;
  readonly browser: Buffer;
  readonly sealed: Buffer;
  readonly returnTo: string;
  readonly lifeMs: number;
};

/** With each that is begun some go that are over: the table stays as long as people need to sign in. */
export async function insertAttempt(tx: Tx, { id, providerId, prefix, hash, browser, sealed, returnTo, lifeMs }: NewAttempt): Promise<void> {
  await tx.query(
    `delete from sign_in_attempt where organization_id = tenant_organization() and id in (select a.id from sign_in_attempt a
       where a.organization_id = tenant_organization() and a.expires_at < clock_timestamp() - interval '1 hour' order by a.expires_at limit 10 for update skip locked)`,
  );
  await tx.query(
    `insert into sign_in_attempt (organization_id, id, provider_id, prefix, hash, browser, sealed, return_to, expires_at)
     values (tenant_organization(), $1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond')`,
    [id, providerId, prefix, hash, browser, sealed, returnTo, lifeMs],
  );
}

export const markUsed = (tx: Tx, id: string): Promise<unknown> =>
  tx.query(`update sign_in_attempt set used_at = clock_timestamp() where organization_id = tenant_organization() and id = $1`, [id]);

/** How often this browser has come back signed in, of late. */
export async function countArrivals(tx: ReadTx, browser: Buffer, withinMs: number): Promise<number> {
  const [row] = await tx.query<{ arrivals: number }[]>(
    `select count(*)::int as arrivals from sign_in_attempt
     where organization_id = tenant_organization() and browser = $1 and used_at > clock_timestamp() - $2 * interval '1 millisecond'`,
    [browser, withinMs],
  );
  return row?.arrivals ?? 0;
}
