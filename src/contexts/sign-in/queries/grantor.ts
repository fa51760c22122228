import { rightsOfCredential, type MemberKind, type Narrowing } from '@domain/access/credentials.js';
import type { PermissionName } from '@domain/access/permissions.js';
import type { Rights } from '@domain/access/rights.js';
import type { OrganizationRole, ProjectRole } from '@domain/access/roles.js';
import { credentialCounts, type CredentialState } from '@domain/sign-in/token.js';
import type { ReadTx, Tx } from '@engine/tx.js';

/** The credential that a request carried, as far as what it makes depends on it. */
export type Grantor = Narrowing & {
  readonly maker: string;
  readonly counts: boolean;
  /** When what it makes ends at the latest: with itself. A session is how its owner comes in, and its end binds nothing. */
  readonly endsAt: Date | null;
  /** What ends when this one is revoked names it; null for a session, likewise. */
  readonly madeWith: string | null;
};

type GrantorRow = CredentialState & Narrowing & { readonly created_by: string; readonly ends_at: Date | null; readonly made_with: string | null };

/**
 * Held until the end of the transaction, so that a revocation comes before what this credential makes, or after it: never in between. One that was
 * revoked since the request was let in counts no more.
 */
export async function lockGrantor(tx: Tx, credentialId: string): Promise<Grantor> {
  const [row] = await tx.query<GrantorRow[]>(
    `select c.scopes, c.projects, c.created_by, case when c.kind <> 'session' then c.expires_at end as ends_at, case when c.kind <> 'session' then c.id end as made_with,
       c.revoked_at is not null as revoked, coalesce(least(c.expires_at, c.idle_until) <= clock_timestamp(), false) as expired, false as suspended
     from credential c where c.organization_id = tenant_organization() and c.id = $1 for no key update`,
    [credentialId],
  );
  if (!row) throw new Error('the credential of an identity is not there');
  const { scopes, projects, created_by: maker, ends_at: endsAt, made_with: madeWith } = row;
  return { scopes, projects, maker, counts: credentialCounts(row), endsAt, madeWith };
}

type Facts = {
  readonly kind: MemberKind;
  readonly role: OrganizationRole | null;
  readonly maker_role: OrganizationRole;
  readonly mine: ProjectRole | null;
  readonly theirs: ProjectRole | null;
};

/** What the credential may do in any of its projects: a scope that is of use in none of them is more than it has. */
export async function findReach(tx: ReadTx, credentialId: string): Promise<Rights> {
  const rows = await tx.query<(Facts & Narrowing)[]>(
    `select distinct c.scopes, c.projects, coalesce(own.kind, 'api_key') as kind, own.role, maker.role as maker_role, mine.role as mine, theirs.role as theirs
     from credential c
     join member maker on maker.organization_id = c.organization_id and maker.id = c.created_by and num_nonnulls(maker.suspended_at, maker.stopped_at, maker.removed_at) = 0
     left join member own on own.organization_id = c.organization_id and own.id = c.member_id
     join project p on p.organization_id = c.organization_id and p.deleting_at is null and (c.projects is null or p.id = any (c.projects))
     left join project_role mine on mine.organization_id = c.organization_id and mine.project_id = p.id and mine.member_id = own.id
     left join project_role theirs on theirs.organization_id = c.organization_id and theirs.project_id = p.id and theirs.member_id = maker.id
     where c.organization_id = tenant_organization() and c.id = $1`,
    [credentialId],
  );
  const reach = rows.flatMap(({ kind, role, maker_role, mine, theirs, scopes, projects }): PermissionName[] => [
    ...rightsOfCredential({ kind, acting: role && { role, projectRole: mine }, maker: { role: maker_role, projectRole: theirs }, scopes, projects }),
  ]);
  return new Set(reach);
}

/** The first of `ids` that is no project of the organization. */
export async function findMissingProject(tx: ReadTx, ids: readonly string[]): Promise<string | null> {
  const rows = await tx.query<{ id: string }[]>(`select id from project where organization_id = tenant_organization() and deleting_at is null and id = any ($1)`, [ids]);
  const known = new Set(rows.map(({ id }) => id));
  return ids.find((id) => !known.has(id)) ?? null;
}
