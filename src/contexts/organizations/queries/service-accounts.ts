import type { OrganizationRole } from '@domain/access/roles.js';
import type { ReadTx } from '@engine/tx.js';
import type { ServiceAccount } from '../public/member.queries.js';

type Row = { readonly id: string; readonly name: string; readonly role: OrganizationRole; readonly suspended: boolean; readonly revision: number; readonly created_at: Date };

const columns = `id, name, role, suspended_at is not null as suspended, revision, created_at`;
const accounts = `organization_id = tenant_organization() and kind = 'service_account' and removed_at is null`;
const toAccount = ({ created_at, ...row }: Row): ServiceAccount => ({ ...row, createdAt: created_at });

/** One page of the organization's service accounts, oldest first. */
export async function listServiceAccounts(tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<ServiceAccount[]> {
  const rows = await tx.query<Row[]>(
    `select ${columns} from member
     where ${accounts}
       and ($1::uuid is null or (created_at, id) > (select m.created_at, m.id from member m where m.organization_id = tenant_organization() and m.id = $1))
     order by created_at, id limit $2`,
    [page.after, page.limit],
  );
  return rows.map(toAccount);
}

export async function findServiceAccount(tx: ReadTx, id: string): Promise<ServiceAccount | null> {
  const [row] = await tx.query<Row[]>(`select ${columns} from member where ${accounts} and id = $1`, [id]);
  return row ? toAccount(row) : null;
}
