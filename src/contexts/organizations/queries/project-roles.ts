import type { OrganizationRole, ProjectRole } from '@domain/access/roles.js';
import type { ReadTx, Tx } from '@engine/tx.js';

export type ProjectMember = { readonly memberId: string; readonly role: ProjectRole };
/** `revision` is the project's. */
export type ProjectMembers = { readonly revision: number; readonly members: readonly ProjectMember[] };

/** Who has a role of their own in a project, the longest first. */
export async function listProjectMembers(tx: ReadTx, projectId: string): Promise<ProjectMember[]> {
  const rows = await tx.query<{ member_id: string; role: ProjectRole }[]>(
    `select member_id, role from project_role where organization_id = tenant_organization() and project_id = $1 order by created_at, member_id`,
    [projectId],
  );
  return rows.map(({ member_id, role }) => ({ memberId: member_id, role }));
}

/** Makes the roles in a project exactly these; what stays keeps its place. */
export async function replaceProjectMembers(tx: Tx, projectId: string, members: readonly ProjectMember[]): Promise<void> {
  const wanted = JSON.stringify(members.map(({ memberId, role }) => ({ member_id: memberId, role })));
  await tx.query(
    `delete from project_role where organization_id = tenant_organization() and project_id = $1
       and member_id not in (select member_id from jsonb_to_recordset($2::jsonb) as wanted (member_id uuid))`,
    [projectId, wanted],
  );
  await tx.query(
    `insert into project_role (organization_id, project_id, member_id, role)
     select tenant_organization(), $1, member_id, role from jsonb_to_recordset($2::jsonb) as wanted (member_id uuid, role text)
     on conflict (organization_id, project_id, member_id) do update set role = excluded.role`,
    [projectId, wanted],
  );
}

/** A new role of a member; the mirror of an API key gets none, because what its key may do is said by its scopes. */
export const insertProjectRole = (tx: Tx, projectId: string, { memberId, role }: ProjectMember): Promise<unknown> =>
  tx.query(
    `insert into project_role (organization_id, project_id, member_id, role)
     select organization_id, $1, id, $3 from member where organization_id = tenant_organization() and id = $2 and kind <> 'api_key'`,
    [projectId, memberId, role],
  );

export const deleteProjectRoles = (tx: Tx, memberId: string): Promise<unknown> =>
  tx.query(`delete from project_role where organization_id = tenant_organization() and member_id = $1`, [memberId]);

export const listProjectIds = async (tx: ReadTx): Promise<string[]> =>
  (await tx.query<{ id: string }[]>(`select id from project where organization_id = tenant_organization()`)).map(({ id }) => id);

/** What a member is in each project of the organization. */
export const listStandings = (tx: ReadTx, memberId: string): Promise<{ projectId: string; role: OrganizationRole; projectRole: ProjectRole | null }[]> =>
  tx.query(
    `select p.id as "projectId", m.role, r.role as "projectRole" from member m join project p on p.organization_id = m.organization_id and p.deleting_at is null
     left join project_role r on r.organization_id = p.organization_id and r.project_id = p.id and r.member_id = m.id
     where m.organization_id = tenant_organization() and m.id = $1`,
    [memberId],
  );
