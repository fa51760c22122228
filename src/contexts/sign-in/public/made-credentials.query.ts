import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/** `memberId`: whose token it is; null for an API key, by which its mirrors act. */
export type MadeCredential = { readonly id: string; readonly memberId: string | null };

/** The credentials that these members answer for and that others act by: API keys, and tokens of service accounts. Also those that were revoked. */
export class MadeCredentialsQuery extends Query<readonly MadeCredential[]> {
  constructor(
    readonly makerIds: readonly string[],
    readonly tx: ReadTx,
  ) {
    super();
  }
}
