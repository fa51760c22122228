import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/** Whether a member has begun a session from where this address is, as limits count it, within the last thirty days. */
export class CameFromQuery extends Query<boolean> {
  constructor(
    readonly memberId: string,
    readonly address: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
