import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Lets no change of who is a member, and of what, happen beside the caller's transaction. Before every other row. */
export class LockMembersCommand extends Command<null> {
  constructor(readonly tx: Tx) {
    super();
  }
}
