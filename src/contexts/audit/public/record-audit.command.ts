import { Command } from '@nestjs/cqrs';
import type { AuditActor, AuditEvent } from '@domain/audit/entry.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Tx } from '@engine/tx.js';

/**
 * Tells the audit log what `who` did, in the transaction of the change: both are there or neither. A refused attempt has no change: it is told in a
 * transaction of its own. An entry that says what its action has no field for throws.
 */
export class RecordAuditCommand extends Command<void> {
  readonly events: readonly AuditEvent[];

  constructor(
    readonly tx: Tx,
    readonly who: Identity | AuditActor,
    ...events: readonly AuditEvent[]
  ) {
    super();
    this.events = events;
  }
}
