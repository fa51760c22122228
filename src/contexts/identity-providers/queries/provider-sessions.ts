import type { ReadTx, Tx } from '@engine/tx.js';

export type ProviderSessionRow = {
  readonly session_id: string;
  readonly identity_id: string;
  readonly provider_id: string;
  readonly subject: string;
  readonly member_id: string;
  readonly sealed: Buffer;
};

const joined = `select s.session_id, s.identity_id, i.provider_id, i.subject, i.member_id, s.sealed
  from provider_session s join linked_identity i on i.organization_id = s.organization_id and i.id = s.identity_id
  where s.organization_id = tenant_organization()`;

export async function findProviderSession(tx: ReadTx, sessionId: string): Promise<ProviderSessionRow | null> {
  const [row] = await tx.query<ProviderSessionRow[]>(`${joined} and s.session_id = $1`, [sessionId]);
  return row ?? null;
}

/** Those that a provider names by its own session, by a subject, or by both. */
export const findNamedSessions = (
  tx: ReadTx,
  providerId: string,
  named: { readonly subject: string | null; readonly providerSession: string | null },
): Promise<ProviderSessionRow[]> =>
  tx.query<ProviderSessionRow[]>(
    `${joined} and i.provider_id = $1 and ($2::text is null or i.subject = $2) and ($3::text is null or s.provider_session = $3) and num_nonnulls($2, $3) > 0 order by s.session_id`,
    [providerId, named.subject, named.providerSession],
  );

type NewProviderSession = {
  readonly sessionId: string;
  readonly identityId: string;
  readonly providerSession: string | null;
  readonly sealed: Buffer;
  readonly askAgainMs: number | null;
};

export const insertProviderSession = (tx: Tx, { sessionId, identityId, providerSession, sealed, askAgainMs }: NewProviderSession): Promise<unknown> =>
  tx.query(
    `insert into provider_session (organization_id, session_id, identity_id, provider_session, sealed, ask_at)
     values (tenant_organization(), $1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond')`,
    [sessionId, identityId, providerSession, sealed, askAgainMs],
  );

/** `null` for `askAgainMs`: it is asked no more. */
export const storeAnswer = (tx: Tx, sessionId: string, sealed: Buffer, askAgainMs: number | null): Promise<unknown> =>
  tx.query(
    `update provider_session set sealed = $2, asked_at = clock_timestamp(), ask_at = clock_timestamp() + $3 * interval '1 millisecond'
     where organization_id = tenant_organization() and session_id = $1`,
    [sessionId, sealed, askAgainMs],
  );

export const stopAsking = (tx: Tx, sessionId: string): Promise<unknown> =>
  tx.query(`update provider_session set ask_at = null where organization_id = tenant_organization() and session_id = $1`, [sessionId]);
