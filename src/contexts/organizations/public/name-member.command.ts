import { Command } from '@nestjs/cqrs';
import type { AuditActor } from '@domain/audit/entry.js';
import type { Tx } from '@engine/tx.js';

/** Gives a member the name that they chose for themselves, in the caller's transaction. `who`: as the audit log names them. */
export class NameMemberCommand extends Command<null> {
  constructor(
    readonly who: AuditActor,
    readonly memberId: string,
    readonly name: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
