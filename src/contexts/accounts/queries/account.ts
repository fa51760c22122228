import type { ReadTx, Tx } from '@engine/tx.js';
import { provesToken, type ParsedToken } from '@platform/identity/credential-text.js';

export type Account = { readonly member_id: string; readonly break_glass: boolean; readonly password_hash: string | null };

const columns = `member_id, break_glass, password_hash`;

export async function findAccount(tx: ReadTx, memberId: string): Promise<Account | null> {
  const [row] = await tx.query<Account[]>(`select ${columns} from account where organization_id = tenant_organization() and member_id = $1`, [memberId]);
  return row ?? null;
}

/** Held until the end of the transaction: of two that change it, or sign in while it changes, one comes after the other. */
export async function lockAccount(tx: Tx, memberId: string): Promise<Account | null> {
  const [row] = await tx.query<Account[]>(`select ${columns} from account where organization_id = tenant_organization() and member_id = $1 for no key update`, [memberId]);
  return row ?? null;
}

type LinkRow = { readonly member_id: string; readonly link_hash: Buffer };

/** Whose password a link sets, while it counts. `lock`: so that of two uses at once the second finds none. */
export async function findByLink(tx: ReadTx | Tx, { prefix, hash }: ParsedToken, lock: '' | 'for no key update'): Promise<string | null> {
  const rows = await tx.query<LinkRow[]>(
    `select member_id, link_hash from account where organization_id = tenant_organization() and link_prefix = $1 and link_until > clock_timestamp() ${lock}`,
    [prefix],
  );
  return rows.find(({ link_hash }) => provesToken(link_hash, hash))?.member_id ?? null;
}

/** Gives a member a password and ends every link to set one. The account is there, or is made. */
export const storePassword = (tx: Tx, memberId: string, passwordHash: string): Promise<unknown> =>
  tx.query(
    `insert into account (organization_id, member_id, break_glass, password_hash, password_set_at) values (tenant_organization(), $1, true, $2, clock_timestamp())
     on conflict (organization_id, member_id) do update set break_glass = true, password_hash = excluded.password_hash, password_set_at = excluded.password_set_at,
       link_prefix = null, link_hash = null, link_until = null`,
    [memberId, passwordHash],
  );

/** Allows a member a password, which the link sets; one from before counts no more. */
export const storeLink = (tx: Tx, memberId: string, link: { readonly prefix: string; readonly hash: Buffer; readonly lifeMs: number }): Promise<unknown> =>
  tx.query(
    `insert into account (organization_id, member_id, break_glass, link_prefix, link_hash, link_until) values (tenant_organization(), $1, true, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
     on conflict (organization_id, member_id) do update set break_glass = true, link_prefix = excluded.link_prefix, link_hash = excluded.link_hash, link_until = excluded.link_until`,
    [memberId, link.prefix, link.hash, link.lifeMs],
  );

/** Takes the password, every link to set one, and the leave to have one. */
export const closeAccount = (tx: Tx, memberId: string): Promise<unknown> =>
  tx.query(
    `update account set break_glass = false, password_hash = null, password_set_at = null, link_prefix = null, link_hash = null, link_until = null
     where organization_id = tenant_organization() and member_id = $1`,
    [memberId],
  );

/** Null: there is none, or more than one. */
export async function findSoleOrganization(tx: ReadTx, except: string | null): Promise<string | null> {
  const [row] = await tx.query<{ id: string | null }[]>(`select sole_organization($1) as id`, [except]);
  return row?.id ?? null;
}
