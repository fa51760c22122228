import type { ReadTx, Tx } from '@engine/tx.js';

export type LinkedIdentity = {
  readonly id: string;
  readonly provider_id: string;
  readonly subject: string;
  readonly member_id: string;
  readonly created_at: Date;
  readonly last_used_at: Date;
};

const columns = `id, provider_id, subject, member_id, created_at, last_used_at`;

export async function findIdentity(tx: ReadTx, providerId: string, subject: string): Promise<LinkedIdentity | null> {
  const [row] = await tx.query<LinkedIdentity[]>(`select ${columns} from linked_identity where organization_id = tenant_organization() and provider_id = $1 and subject = $2`, [
    providerId,
    subject,
  ]);
  return row ?? null;
}

export async function findIdentityOf(tx: ReadTx, providerId: string, memberId: string): Promise<LinkedIdentity | null> {
  const [row] = await tx.query<LinkedIdentity[]>(`select ${columns} from linked_identity where organization_id = tenant_organization() and provider_id = $1 and member_id = $2`, [
    providerId,
    memberId,
  ]);
  return row ?? null;
}

export const listIdentitiesOf = (tx: ReadTx, memberId: string): Promise<LinkedIdentity[]> =>
  tx.query<LinkedIdentity[]>(`select ${columns} from linked_identity where organization_id = tenant_organization() and member_id = $1 order by created_at, id`, [memberId]);

/** Links a subject to a member. A subject whose member left goes over to whom it is now. Answers the id of the link. */
export async function linkIdentity(tx: Tx, link: { readonly id: string; readonly providerId: string; readonly subject: string; readonly memberId: string }): Promise<string> {
  const [row] = await tx.query<{ id: string }[]>(
    `insert into linked_identity (organization_id, id, provider_id, subject, member_id) values (tenant_organization(), $1, $2, $3, $4)
     on conflict (organization_id, provider_id, subject) do update set member_id = excluded.member_id, created_at = clock_timestamp(), last_used_at = clock_timestamp() returning id`,
    [link.id, link.providerId, link.subject, link.memberId],
  );
  return row!.id;
}

export const markIdentityUsed = (tx: Tx, id: string): Promise<unknown> =>
  tx.query(`update linked_identity set last_used_at = clock_timestamp() where organization_id = tenant_organization() and id = $1`, [id]);
