import type { MemberRole } from '@domain/organizations/member.js';
import type { TokenState } from '@domain/sign-in/token.js';
import type { ReadTx } from '@engine/tx.js';

export type CredentialRow = TokenState & {
  readonly id: string;
  readonly hash: Buffer;
  readonly member_id: string;
  readonly project_id: string;
  readonly role: MemberRole;
  /** The last recorded use is none or more than a minute ago. */
  readonly use_is_old: boolean;
};

const credential = `
  select token.id, token.hash, token.member_id, token.project_id, member.role,
    token.revoked_at is not null as revoked,
    coalesce(token.expires_at <= clock_timestamp(), false) as expired,
    member.suspended_at is not null as suspended,
    coalesce(token.last_used_at < clock_timestamp() - interval '1 minute', true) as use_is_old
  from user_token token join member on member.organization_id = token.organization_id and member.id = token.member_id
  where token.organization_id = tenant_organization()`;

/**
 * The tokens with this public prefix, each with its member: nearly always one. The join is the one place that reads the members' table from
 * here: every request pays for it, so it is one statement.
 */
export const findCredentials = (tx: ReadTx, prefix: string): Promise<CredentialRow[]> => tx.query<CredentialRow[]>(`${credential} and token.prefix = $1`, [prefix]);

export async function findCredentialById(tx: ReadTx, tokenId: string): Promise<CredentialRow | null> {
  const [row] = await tx.query<CredentialRow[]>(`${credential} and token.id = $1`, [tokenId]);
  return row ?? null;
}

export type TokenRow = {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
};

/** One page of a member's own tokens that are not revoked, oldest first. Expired ones are shown: their owner may wonder why they stopped. */
export const listTokens = (tx: ReadTx, memberId: string, page: { readonly after: string | null; readonly limit: number }): Promise<TokenRow[]> =>
  tx.query<TokenRow[]>(
    `select id, name, prefix, created_at, expires_at, last_used_at from user_token
     where organization_id = tenant_organization() and member_id = $1 and revoked_at is null
       and ($2::uuid is null or (created_at, id) > (select t.created_at, t.id from user_token t where t.organization_id = tenant_organization() and t.member_id = $1 and t.id = $2))
     order by created_at, id limit $3`,
    [memberId, page.after, page.limit],
  );
