import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Ends the sessions of a member, but for the one with the credential `exceptId`, in the caller's transaction. Requests are out at once, open streams within seconds. Answers their ids. */
export class EndSessionsCommand extends Command<readonly string[]> {
  constructor(
    readonly memberId: string,
    readonly exceptId: string | null,
    readonly tx: Tx,
  ) {
    super();
  }
}
