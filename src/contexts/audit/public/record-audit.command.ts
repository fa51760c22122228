import { Command } from '@nestjs/cqrs';
import type { CredentialKind } from '@domain/access/credentials.js';
import type { AuditEvent } from '@domain/audit/entry.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Tx } from '@engine/tx.js';

/** Who acts where no request with an identity does. `onBehalfOf`: the member for whom. `address`: the network address that the request came from. */
export type AuditActor =
  | { readonly kind: 'member'; readonly memberId: string; readonly credential: { readonly kind: CredentialKind; readonly id: string } | null; readonly address: string | null }
  | { readonly kind: 'service'; readonly service: string; readonly onBehalfOf?: string }
  | { readonly kind: 'operator' }
  | { readonly kind: 'nobody'; readonly address: string | null };

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
