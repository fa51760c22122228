import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

/**
 * Ends every credential by which a member acts, in the caller's transaction, and those that they made for programs: each of these is told to the audit
 * log, as done by `who`. Their work is the caller's to stop.
 */
export class RevokeCredentialsCommand extends Command<null> {
  constructor(
    readonly memberId: string,
    readonly who: Identity,
    readonly tx: Tx,
  ) {
    super();
  }
}
