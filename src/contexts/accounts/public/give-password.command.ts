import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Gives a member the leave to sign in with a password, and this one, in the caller's transaction. `passwordHash`: of `PreparePasswordCommand`. */
export class GivePasswordCommand extends Command<null> {
  constructor(
    readonly memberId: string,
    readonly passwordHash: string,
    readonly address: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
