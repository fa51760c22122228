import type { ReadTx } from '@engine/tx.js';

export type OrganizationRow = { readonly id: string; readonly name: string; readonly created_at: Date };
export type ProjectRow = OrganizationRow;

/** The organization of the transaction. It holds whoever reads it, so a missing row is a broken database. */
export async function loadOrganization(tx: ReadTx): Promise<OrganizationRow> {
  const [row] = await tx.query<OrganizationRow[]>(`select id, name, created_at from organization where id = tenant_organization()`);
  if (!row) throw new Error('the organization of an identity is not there');
  return row;
}

/** One page of projects, the default first. The cursor is an id: a Date would lose the microseconds and repeat rows. */
export const listProjects = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<ProjectRow[]> =>
  tx.query<ProjectRow[]>(
    `select id, name, created_at from project
     where organization_id = tenant_organization()
       and ($1::uuid is null or (created_at, id) > (select p.created_at, p.id from project p where p.organization_id = tenant_organization() and p.id = $1))
     order by created_at, id limit $2`,
    [page.after, page.limit],
  );

export async function findDefaultProject(tx: ReadTx): Promise<string | null> {
  const [first] = await listProjects(tx, { after: null, limit: 1 });
  return first?.id ?? null;
}
