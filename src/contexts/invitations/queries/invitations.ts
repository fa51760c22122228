import type { OrganizationRole, ProjectRole } from '@domain/access/roles.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { provesToken, type ParsedToken } from '@platform/identity/credential-text.js';

export type InvitationProject = { readonly projectId: string; readonly role: ProjectRole };
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly role: OrganizationRole;
  readonly password_sign_in: boolean;
  readonly invited_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly projects: readonly InvitationProject[];
};

const open = `i.organization_id = tenant_organization() and i.accepted_at is null and i.revoked_at is null`;
const columns = `i.id, i.email, i.name, i.role, i.password_sign_in, i.invited_by, i.created_at, i.expires_at,
  (select coalesce(json_agg(json_build_object('projectId', p.project_id, 'role', p.role) order by p.project_id), '[]')
   from invitation_project p where p.organization_id = i.organization_id and p.invitation_id = i.id) as projects`;

/** One page of those that are neither accepted nor revoked, oldest first. Expired ones are shown: they can be renewed. */
export const listInvitations = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<Invitation[]> =>
  tx.query<Invitation[]>(
    `select ${columns} from invitation i
     where ${open} and ($1::uuid is null or (i.created_at, i.id) > (select a.created_at, a.id from invitation a where a.organization_id = tenant_organization() and a.id = $1))
     order by i.created_at, i.id limit $2`,
    [page.after, page.limit],
  );

/** Held until the end of the transaction: of an acceptance, a renewal and a revocation at once each sees what the one before has left. */
export async function lockInvitation(tx: Tx, id: string): Promise<Invitation | null> {
  const [row] = await tx.query<Invitation[]>(`select ${columns} from invitation i where ${open} and i.id = $1 for no key update of i`, [id]);
  return row ?? null;
}

export async function findInvitation(tx: ReadTx, id: string): Promise<Invitation | null> {
  const [row] = await tx.query<Invitation[]>(`select ${columns} from invitation i where ${open} and i.id = $1`, [id]);
  return row ?? null;
}

/** The one that a text is for, while it counts; whether its maker may still give what it gives is another question. */
export async function findByText(tx: ReadTx | Tx, { prefix, hash }: ParsedToken, lock: '' | 'for no key update of i'): Promise<Invitation | null> {
  const rows = await tx.query<(Invitation & { readonly hash: Buffer })[]>(
    `select ${columns}, i.hash from invitation i where ${open} and i.prefix = $1 and i.expires_at > clock_timestamp() ${lock}`,
    [prefix],
  );
  return rows.find((row) => provesToken(row.hash, hash)) ?? null;
}
