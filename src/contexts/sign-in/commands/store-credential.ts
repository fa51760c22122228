import { v7 as uuidv7 } from 'uuid';
import type { Narrowing } from '@domain/access/credentials.js';
import type { Tx } from '@engine/tx.js';
import { newToken, type TokenStart } from '@platform/identity/credential-text.js';
import { memberOf, shownColumns, type CredentialsOf, type ShownCredential } from '../queries/credential-lists.js';

export type WantedCredential = Narrowing & { readonly name: string; readonly expiresInMs: number | null };
/** `secret` is the credential itself: nothing can read it again. */
export type MadeCredential = { readonly secret: string; readonly shown: ShownCredential };

/** `madeWith`: the token that asked; null where it was a session, or the operator. */
type Maker = { readonly maker: string; readonly endsAt: Date | null; readonly madeWith: string | null };

export const startOf = ({ kind }: CredentialsOf): TokenStart => (kind === 'api_key' ? 'obk_' : 'obt_');

/** Writes a new credential: whether it may be is decided. It ends with the token that made it, if not before. */
export async function storeCredential(tx: Tx, organizationId: string, of: CredentialsOf, { maker, endsAt, madeWith }: Maker, wanted: WantedCredential): Promise<MadeCredential> {
  const { token: secret, prefix, hash } = newToken(organizationId, startOf(of));
  const [shown] = await tx.query<ShownCredential[]>(
    `insert into credential (organization_id, id, kind, member_id, created_by, name, scopes, projects, prefix, hash, made_with, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, least(clock_timestamp() + $12 * interval '1 millisecond', $13::timestamptz)) returning ${shownColumns}`,
    [organizationId, uuidv7(), of.kind, memberOf(of), maker, wanted.name, wanted.scopes, wanted.projects, prefix, hash, madeWith, wanted.expiresInMs, endsAt],
  );
  return { secret, shown: shown! };
}
