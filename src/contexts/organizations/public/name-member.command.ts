import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Gives a member the name that they chose for themselves, in the caller's transaction. */
export class NameMemberCommand extends Command<null> {
  constructor(
    readonly memberId: string,
    readonly name: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
