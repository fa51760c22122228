import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';

/** A token and whose it is, or an API key: null, for it acts by its mirrors. */
export type EndedCredential = { readonly id: string; readonly memberId: string | null };

/**
 * Ends the work that was begun with these credentials, in every project and with what is below it; work that the same member began in another way goes
 * on. Last in the caller's transaction: it locks members' admissions, identities and heads. Answers what to publish after the commit.
 */
export class StopWorkCommand extends Command<readonly string[]> {
  constructor(
    readonly credentials: readonly EndedCredential[],
    readonly tx: Tx,
  ) {
    super();
  }
}
