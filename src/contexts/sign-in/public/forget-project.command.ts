import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** Takes a project that is gone out of what credentials are narrowed to, in the caller's transaction. One that was for no other ends. */
export class ForgetProjectCommand extends Command<null> {
  constructor(
    readonly projectId: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
