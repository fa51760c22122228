import type { AuditEntry } from '@domain/audit/entry.js';
import type { ChainHead } from '@domain/audit/verify.js';
import type { ReadTx } from '@engine/tx.js';

/** A chain: a project's, or the organization's own. */
export type Chain = { readonly projectId: string | null };

/** What of a chain is asked for; null asks for all. Ids are UUIDs. `actor`: a member or a credential. `actions`: whole names, or what stands before the dot. */
export type AuditFilter = {
  readonly actions: readonly string[] | null;
  readonly actor: string | null;
  readonly target: string | null;
  readonly from: Date | null;
  readonly until: Date | null;
};

const columns = `organization_id as "organizationId", project_id as "projectId", sequence::float8 as sequence, id, (extract(epoch from at) * 1000)::float8 as at, action, outcome,
  actor_kind as "actorKind", member_id as "memberId", credential_kind as "credentialKind", credential_id as "credentialId", on_behalf_of as "onBehalfOf", service,
  target_kind as "targetKind", target_id as "targetId", address, detail, encode(hash, 'hex') as hash`;
const ofChain = `organization_id = tenant_organization() and chain_id = coalesce($1::uuid, tenant_organization())`;

/** The newest first, before the place `before`. */
export const listEntries = (tx: ReadTx, { projectId }: Chain, filter: AuditFilter, page: { readonly before: number | null; readonly limit: number }): Promise<AuditEntry[]> =>
  tx.query<AuditEntry[]>(
    `select ${columns} from audit_entry
     where ${ofChain} and ($2::bigint is null or sequence < $2)
       and ($3::text[] is null or action = any ($3) or split_part(action, '.', 1) = any ($3))
       and ($4::uuid is null or member_id = $4 or credential_id = $4 or on_behalf_of = $4)
       and ($5::uuid is null or target_id = $5)
       and ($6::timestamptz is null or at >= $6) and ($7::timestamptz is null or at < $7)
     order by sequence desc limit $8`,
    [projectId, page.before, filter.actions, filter.actor, filter.target, filter.from, filter.until, page.limit],
  );

/** The next entries of a chain in its own order, and where it ends: both as one statement sees them. */
export async function readChain(tx: ReadTx, { projectId }: Chain, after: number, limit: number): Promise<{ readonly entries: AuditEntry[]; readonly head: ChainHead }> {
  const [row] = await tx.query<{ entries: AuditEntry[]; length: number; hash: string }[]>(
    `select coalesce((select json_agg(e order by e.sequence) from (select ${columns} from audit_entry where ${ofChain} and sequence > $2 order by sequence limit $3) e), '[]') as entries,
       coalesce((select length::float8 from audit_head where ${ofChain}), 0) as length,
       coalesce((select encode(hash, 'hex') from audit_head where ${ofChain}), repeat('0', 64)) as hash`,
    [projectId, after, limit],
  );
  return { entries: row!.entries, head: { length: row!.length, hash: row!.hash } };
}

/** Where the chain was after `length` entries; null: it has no such entry. */
export async function findPlace(tx: ReadTx, { projectId }: Chain, length: number): Promise<ChainHead | null> {
  const [row] = await tx.query<{ hash: string }[]>(`select encode(hash, 'hex') as hash from audit_entry where ${ofChain} and sequence = $2`, [projectId, length]);
  return row ? { length, hash: row.hash } : null;
}

/** Entries that are committed and have no place yet. */
export async function countUnlinked(tx: ReadTx, { projectId }: Chain): Promise<number> {
  const [row] = await tx.query<{ unlinked: number }[]>(`select count(*)::int as unlinked from audit_inbox where ${ofChain}`, [projectId]);
  return row?.unlinked ?? 0;
}
