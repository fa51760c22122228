import { v7 as uuidv7 } from 'uuid';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

const bindingOf = (recordId: string) => ({ table: 'sealed_record', record: recordId });

/** Saves whom work acts as, beside the work: it is never derived from an author or an id later. */
export async function saveIdentity(tx: Tx, key: OrganizationKey, identity: Identity): Promise<string> {
  const id = uuidv7();
  const { context, memberId, tokenId, role, expiresAt } = identity;
  await tx.query(`insert into sealed_record (id, organization_id, project_id, kind, body, credential_id) values ($1, $2, $3, 'identity', $4, $5)`, [
    id,
    context.organizationId,
    context.projectId,
    key.seal(bindingOf(id), JSON.stringify({ context, memberId, tokenId, role, expiresAt })),
    tokenId,
  ]);
  return id;
}

/** As it was when the work began: who it is counts, and what they may is asked anew. */
export type IdentityRecord = Pick<Identity, 'context' | 'memberId' | 'tokenId'> & { readonly expiresAt: Date | null };

export async function loadIdentityRecord(tx: ReadTx, key: OrganizationKey, id: string): Promise<IdentityRecord> {
  const [row] = await tx.query<{ body: Buffer }[]>(`select body from sealed_record where id = $1 and kind = 'identity'`, [id]);
  if (!row) throw new Error('the identity of stored work is not there');
  const { expiresAt, ...stored } = JSON.parse(key.open(bindingOf(id), row.body).toString('utf8')) as Omit<IdentityRecord, 'expiresAt'> & { readonly expiresAt?: string };
  return { ...stored, expiresAt: expiresAt === undefined ? null : new Date(expiresAt) };
}
