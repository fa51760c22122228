import type { PermissionName } from '@domain/access/permissions.js';
import type { ReadTx } from '@engine/tx.js';

/** What a list shows of a credential: everything but what proves it. */
export type ShownCredential = {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: readonly PermissionName[] | null;
  readonly projects: readonly string[] | null;
  readonly created_by: string;
  readonly made_with: string | null;
  readonly created_at: Date;
  readonly rotated_at: Date | null;
  /** Until when the secret before the last rotation counts; null once it does not. */
  readonly old_until: Date | null;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
};

export const shownColumns = `id, name, prefix, scopes, projects, created_by, made_with, created_at, rotated_at, case when old_until > clock_timestamp() then old_until end as old_until, expires_at, last_used_at`;

/** Whose credentials: the tokens of a person or a service account, or the organization's API keys. */
export type CredentialsOf = { readonly kind: 'user_token'; readonly memberId: string } | { readonly kind: 'api_key' };

/** Names exactly those that are not revoked. Parameter $1 is the member. */
export const whose = ({ kind }: CredentialsOf): string =>
  `organization_id = tenant_organization() and member_id is not distinct from $1::uuid and kind = '${kind === 'api_key' ? 'api_key' : 'user_token'}' and revoked_at is null`;
export const memberOf = (of: CredentialsOf): string | null => (of.kind === 'api_key' ? null : of.memberId);

/** One page of those that are not revoked, oldest first. Expired ones are shown: whoever used them may wonder why they stopped. */
export const listCredentials = (tx: ReadTx, of: CredentialsOf, page: { readonly after: string | null; readonly limit: number }): Promise<ShownCredential[]> =>
  tx.query<ShownCredential[]>(
    `select ${shownColumns} from credential
     where ${whose(of)}
       and ($2::uuid is null or (created_at, id) > (select c.created_at, c.id from credential c where c.organization_id = tenant_organization() and c.member_id is not distinct from $1::uuid and c.id = $2))
     order by created_at, id limit $3`,
    [memberOf(of), page.after, page.limit],
  );

export async function findShownCredential(tx: ReadTx, of: CredentialsOf, id: string): Promise<ShownCredential | null> {
  const [row] = await tx.query<ShownCredential[]>(`select ${shownColumns} from credential where ${whose(of)} and id = $2`, [memberOf(of), id]);
  return row ?? null;
}
