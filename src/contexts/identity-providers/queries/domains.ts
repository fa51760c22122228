import type { ReadTx, Tx } from '@engine/tx.js';

export type DomainRow = {
  readonly id: string;
  readonly domain: string;
  readonly provider_id: string;
  readonly proof: string;
  readonly created_at: Date;
  readonly verified_at: Date | null;
};

const columns = `id, domain, provider_id, proof, created_at, verified_at`;

/** The oldest first. */
export const listDomains = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<DomainRow[]> =>
  tx.query<DomainRow[]>(`select ${columns} from organization_domain where organization_id = tenant_organization() and ($1::uuid is null or id > $1) order by id limit $2`, [
    page.after,
    page.limit,
  ]);

export async function findDomain(tx: ReadTx, id: string): Promise<DomainRow | null> {
  const [row] = await tx.query<DomainRow[]>(`select ${columns} from organization_domain where organization_id = tenant_organization() and id = $1`, [id]);
  return row ?? null;
}

/** Whether this provider speaks for the domain. */
export async function isVerifiedFor(tx: ReadTx, providerId: string, domain: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `select 1 from organization_domain where organization_id = tenant_organization() and domain = $2 and provider_id = $1 and verified_at is not null`,
    [providerId, domain],
  );
  return rows.length > 0;
}

/** What the DNS record of the domain has to say. */
export const recordOf = ({ domain, proof }: Pick<DomainRow, 'domain' | 'proof'>) => ({ name: `_openbot.${domain}`, value: `openbot-verification=${proof}` });

export const markVerified = (tx: Tx, id: string): Promise<unknown> =>
  tx.query(`update organization_domain set verified_at = coalesce(verified_at, clock_timestamp()) where organization_id = tenant_organization() and id = $1`, [id]);
