import type { MemberKind } from '@domain/access/credentials.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Member, NamedMember } from '../public/member.queries.js';

type MemberRow = {
  readonly id: string;
  readonly kind: MemberKind;
  readonly name: string;
  readonly email: string | null;
  readonly role: OrganizationRole;
  readonly suspended_at: Date | null;
  readonly stopped_by: string | null;
  readonly revision: number;
  readonly created_at: Date;
};

const columns = `id, kind, name, email, role, suspended_at, stopped_by, revision, created_at`;
const toMember = ({ id, kind, name, email, role, suspended_at, stopped_by, revision, created_at }: MemberRow): Member => ({
  id,
  kind,
  name,
  email,
  role,
  suspended: suspended_at !== null || stopped_by !== null,
  suspendedBy: [...(suspended_at ? (['administrator'] as const) : []), ...(stopped_by ? (['directory'] as const) : [])],
  stoppedBy: stopped_by,
  revision,
  createdAt: created_at,
});

/** People and service accounts among these. */
export async function findMembers(tx: ReadTx, ids: readonly string[]): Promise<Member[]> {
  const rows = await tx.query<MemberRow[]>(
    `select ${columns} from member where organization_id = tenant_organization() and removed_at is null and kind <> 'api_key' and id = any($1)`,
    [ids],
  );
  return rows.map(toMember);
}

/** Mirrors of API keys too: each in its own project alone, so that nothing outside names what ends with it. */
export const findNamedMembers = (tx: ReadTx, ids: readonly string[]): Promise<NamedMember[]> =>
  tx.query<NamedMember[]>(
    `select id, name, email from member
     where organization_id = tenant_organization() and removed_at is null and id = any($1) and (kind <> 'api_key' or key_project_id = tenant_project())`,
    [ids],
  );

/** One page of members, oldest first: people and service accounts. Every member may know the others: they share bots with each other. */
export async function listMembers(tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<Member[]> {
  const rows = await tx.query<MemberRow[]>(
    `select ${columns} from member
     where organization_id = tenant_organization() and removed_at is null and kind <> 'api_key'
       and ($1::uuid is null or (created_at, id) > (select m.created_at, m.id from member m where m.organization_id = tenant_organization() and m.id = $1))
     order by created_at, id limit $2`,
    [page.after, page.limit],
  );
  return rows.map(toMember);
}

export async function findMember(tx: ReadTx, id: string): Promise<Member | null> {
  const [member] = await findMembers(tx, [id]);
  return member ?? null;
}

export async function findPersonByEmail(tx: ReadTx, email: string): Promise<Member | null> {
  const [row] = await tx.query<MemberRow[]>(
    `select ${columns} from member where organization_id = tenant_organization() and removed_at is null and kind = 'person' and lower(email) = lower($1)`,
    [email],
  );
  return row ? toMember(row) : null;
}

export async function wasRemoved(tx: ReadTx, email: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(`select 1 from member where organization_id = tenant_organization() and removed_at is not null and lower(email) = lower($1) limit 1`, [
    email,
  ]);
  return rows.length > 0;
}

type NewPerson = { readonly id: string; readonly name: string; readonly email: string; readonly role: OrganizationRole };

/** False: somebody has the address. The id is new, so that nothing else can have been there. */
export async function insertPerson(tx: Tx, { id, name, email, role }: NewPerson): Promise<boolean> {
  const made = await tx.query<unknown[]>(
    `insert into member (organization_id, id, name, email, role) values (tenant_organization(), $1, $2, $3, $4) on conflict do nothing returning id`,
    [id, name, email, role],
  );
  return made.length > 0;
}

/** People who own the organization besides this member, and may act. */
export async function countOtherOwners(tx: Tx, id: string): Promise<number> {
  const [row] = await tx.query<{ owners: number }[]>(
    `select count(*)::int as owners from member
     where organization_id = tenant_organization() and role = 'owner' and kind = 'person' and num_nonnulls(suspended_at, stopped_by, removed_at) = 0 and id <> $1`,
    [id],
  );
  return row?.owners ?? 0;
}
