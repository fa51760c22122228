import { Command } from '@nestjs/cqrs';
import type { Tx } from '@engine/tx.js';
import type { Visitor } from '@platform/identity/visitor.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';

/** Begins a session of a person in the caller's transaction: who it is was proven there. */
export class BeginSessionCommand extends Command<BegunSession> {
  constructor(
    readonly organizationId: string,
    readonly memberId: string,
    readonly visitor: Visitor,
    readonly method: 'password' | 'setup' | 'invitation' | 'oidc',
    readonly tx: Tx,
  ) {
    super();
  }
}
