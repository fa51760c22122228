import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Ends every credential by which a member acts, in the caller's transaction. Those that they made for others count no more once they are removed. */
export class RevokeCredentialsCommand extends Command<null> {
  constructor(
    readonly memberId: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
