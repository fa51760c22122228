import type { ReadTx } from '@engine/tx.js';

export type SessionRow = {
  readonly id: string;
  readonly user_agent: string | null;
  readonly address: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly expires_at: Date;
  readonly idle_until: Date;
};

/** One page of a member's sessions that are not over, oldest first. */
export const listSessions = (tx: ReadTx, memberId: string, page: { readonly after: string | null; readonly limit: number }): Promise<SessionRow[]> =>
  tx.query<SessionRow[]>(
    `select id, user_agent, address, created_at, last_used_at, expires_at, idle_until from credential
     where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and revoked_at is null and least(expires_at, idle_until) > clock_timestamp()
       and ($2::uuid is null or (created_at, id) > (select c.created_at, c.id from credential c where c.organization_id = tenant_organization() and c.member_id = $1 and c.id = $2))
     order by created_at, id limit $3`,
    [memberId, page.after, page.limit],
  );

/** When the credential of a request ends in any case; `null`: never. */
export async function findEnd(tx: ReadTx, credentialId: string): Promise<Date | null> {
  const [row] = await tx.query<{ expires_at: Date | null }[]>(`select expires_at from credential where organization_id = tenant_organization() and id = $1`, [credentialId]);
  return row?.expires_at ?? null;
}
