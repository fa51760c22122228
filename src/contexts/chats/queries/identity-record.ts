import { v7 as uuidv7 } from 'uuid';
import { unlimited, type ExecutionIdentity } from '@domain/access/execution-identity.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { workEndsAt, type Identity } from '@platform/identity/identity.js';

const bindingOf = (recordId: string) => ({ table: 'sealed_record', record: recordId });

/** Saves whom work acts as, beside the work: it is never derived from an author or an id later. */
export async function saveIdentity(tx: Tx, key: OrganizationKey, identity: Identity, botId: string): Promise<string> {
  const id = uuidv7();
  const { context, memberId, tokenId, role } = identity;
  const limits = { ...unlimited, endsAt: workEndsAt(identity)?.getTime() ?? null };
  const acting: ExecutionIdentity = { owner: memberId, actor: memberId, token: tokenId, speaker: null, bot: botId, delegation: null, source: null, limits };
  await tx.query(`insert into sealed_record (id, organization_id, project_id, kind, body, credential_id) values ($1, $2, $3, 'identity', $4, $5)`, [
    id,
    context.organizationId,
    context.projectId,
    key.seal(bindingOf(id), JSON.stringify({ context, memberId, tokenId, role, acting })),
    tokenId,
  ]);
  return id;
}

/** Who it is, as it was told when the work began; what they may is asked anew. */
export async function loadIdentityRecord(tx: ReadTx, key: OrganizationKey, id: string): Promise<ExecutionIdentity> {
  const [row] = await tx.query<{ body: Buffer }[]>(`select body from sealed_record where id = $1 and kind = 'identity'`, [id]);
  if (!row) throw new Error('the identity of stored work is not there');
  const { acting, memberId, tokenId } = JSON.parse(key.open(bindingOf(id), row.body).toString('utf8')) as Stored;
  // Work of a build before this knew no more of itself.
  return acting ?? { owner: memberId, actor: memberId, token: tokenId, speaker: null, bot: null, delegation: null, source: null, limits: unlimited };
}

type Stored = Pick<Identity, 'memberId' | 'tokenId'> & { readonly acting?: ExecutionIdentity };
