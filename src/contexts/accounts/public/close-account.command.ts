import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Takes from a member who is removed their password and every link to set one, in the caller's transaction. */
export class CloseAccountCommand extends Command<null> {
  constructor(
    readonly memberId: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
