import type { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { transact } from '@platform/database/transact.js';

/** What a list shows of a token: everything but what proves it. */
export type ShownScimToken = {
  readonly id: string;
  readonly provider_id: string;
  readonly name: string;
  readonly prefix: string;
  readonly created_by: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
};

const shown = `id, provider_id, name, prefix, created_by, created_at, expires_at, last_used_at`;

/** The oldest first. Expired ones are shown: whoever used them may wonder why they stopped. */
export const listTokens = (tx: ReadTx, providerId: string, page: { readonly after: string | null; readonly limit: number }): Promise<ShownScimToken[]> =>
  tx.query<ShownScimToken[]>(
    `select ${shown} from scim_token where organization_id = tenant_organization() and provider_id = $1 and ($2::uuid is null or id > $2) order by id limit $3`,
    [providerId, page.after, page.limit],
  );

export async function countTokens(tx: ReadTx, providerId: string): Promise<number> {
  const [row] = await tx.query<{ tokens: number }[]>(`select count(*)::int as tokens from scim_token where organization_id = tenant_organization() and provider_id = $1`, [
    providerId,
  ]);
  return row?.tokens ?? 0;
}

type NewScimToken = {
  readonly id: string;
  readonly providerId: string;
  readonly name: string;
  readonly prefix: string;
  readonly hash: Buffer;
  readonly createdBy: string;
  readonly expiresInMs: number | null;
};

export async function insertToken(tx: Tx, { id, providerId, name, prefix, hash, createdBy, expiresInMs }: NewScimToken): Promise<ShownScimToken> {
  const [row] = await tx.query<ShownScimToken[]>(
    `insert into scim_token (organization_id, id, provider_id, name, prefix, hash, created_by, expires_at)
     values (tenant_organization(), $1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 millisecond') returning ${shown}`,
    [id, providerId, name, prefix, hash, createdBy, expiresInMs],
  );
  return row!;
}

export async function deleteToken(tx: Tx, providerId: string, id: string): Promise<boolean> {
  const [, gone] = await tx.query<[unknown[], number]>(`delete from scim_token where organization_id = tenant_organization() and provider_id = $1 and id = $2`, [providerId, id]);
  return gone > 0;
}

export type ProvableToken = { readonly id: string; readonly provider_id: string; readonly hash: Buffer; readonly use_is_old: boolean };

/** Those with this public prefix that have not expired. */
export const findTokens = (tx: ReadTx, prefix: string): Promise<ProvableToken[]> =>
  tx.query<ProvableToken[]>(
    `select id, provider_id, hash, coalesce(last_used_at < clock_timestamp() - interval '1 minute', true) as use_is_old from scim_token
     where organization_id = tenant_organization() and prefix = $1 and (expires_at is null or expires_at > clock_timestamp())`,
    [prefix],
  );

/** At most once a minute. */
export async function markTokenUsed(db: DataSource, context: TenantContext, id: string): Promise<void> {
  await transact(db, context, async (tx) => {
    await tx.query(`update scim_token set last_used_at = clock_timestamp() where organization_id = tenant_organization() and id = $1`, [id]);
    return ok(null);
  });
}
