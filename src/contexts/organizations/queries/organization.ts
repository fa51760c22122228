import type { ReadTx, Tx } from '@engine/tx.js';

export type OrganizationRow = { readonly id: string; readonly name: string; readonly revision: number; readonly created_at: Date };
export type ProjectRow = OrganizationRow;

/** As an id that somebody sent: there may be none. */
export async function findOrganization(tx: ReadTx): Promise<OrganizationRow | null> {
  const [row] = await tx.query<OrganizationRow[]>(`select id, name, revision, created_at from organization where id = tenant_organization()`);
  return row ?? null;
}

/** The organization of the transaction. It holds whoever reads it, so a missing row is a broken database. */
export async function loadOrganization(tx: ReadTx): Promise<OrganizationRow> {
  const row = await findOrganization(tx);
  if (!row) throw new Error('the organization of an identity is not there');
  return row;
}

/**
 * Changes of who may do what in an organization happen one after the other: each is judged by what the one before has left, so that of two demotions at
 * once one meets the last owner. Before every other row.
 */
export async function lockOrganization(tx: Tx): Promise<void> {
  await tx.query(`select 1 from organization where id = tenant_organization() for no key update`);
}

export async function findProject(tx: ReadTx, id: string): Promise<ProjectRow | null> {
  const [row] = await tx.query<ProjectRow[]>(
    `select id, name, revision, created_at from project where organization_id = tenant_organization() and deleting_at is null and id = $1`,
    [id],
  );
  return row ?? null;
}

/** One page of projects, the default first, of `reach` where it is given; one that is being deleted is in no list. The cursor is an id: a Date would lose the microseconds and repeat rows. */
export const listProjects = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }, reach: readonly string[] | null = null): Promise<ProjectRow[]> =>
  tx.query<ProjectRow[]>(
    `select id, name, revision, created_at from project
     where organization_id = tenant_organization() and deleting_at is null
       and ($1::uuid is null or (created_at, id) > (select p.created_at, p.id from project p where p.organization_id = tenant_organization() and p.id = $1))
       and ($3::uuid[] is null or id = any ($3))
     order by created_at, id limit $2`,
    [page.after, page.limit, reach],
  );

/** Those that are not being deleted. */
export async function countProjects(tx: ReadTx): Promise<number> {
  const [row] = await tx.query<{ projects: number }[]>(`select count(*)::int as projects from project where organization_id = tenant_organization() and deleting_at is null`);
  return row?.projects ?? 0;
}

export async function findDefaultProject(tx: ReadTx): Promise<string | null> {
  const [first] = await listProjects(tx, { after: null, limit: 1 });
  return first?.id ?? null;
}
