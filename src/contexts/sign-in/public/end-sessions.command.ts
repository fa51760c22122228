import { Command } from '@nestjs/cqrs';
import type { AuditActor } from '@domain/audit/entry.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

/**
 * Why sessions end before their time. For a role they are only begun anew: what was begun in them goes on, as far as the role allows it. `provider`: whoever
 * vouched for the person says that they are signed out. `directory`: their directory says that they are gone.
 */
export type SessionEnd = 'administrator' | 'password' | 'role' | 'suspension' | 'provider' | 'directory';

/**
 * Ends the sessions of a member, of `onlyIds` where they are given, but for the one with the credential `exceptId`, in the caller's transaction, and tells the audit log. Requests are out
 * at once, open streams within seconds, and what was begun in them before its next step. Late in the transaction: it locks heads.
 */
export class EndSessionsCommand extends Command<void> {
  constructor(
    readonly tx: Tx,
    readonly who: Identity | AuditActor,
    readonly of: { readonly memberId: string; readonly exceptId?: string; readonly onlyIds?: readonly string[]; readonly reason: SessionEnd },
  ) {
    super();
  }
}
