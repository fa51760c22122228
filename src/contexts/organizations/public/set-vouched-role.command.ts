import { Command } from '@nestjs/cqrs';
import type { ServiceAccountRole } from '@domain/access/roles.js';
import type { Tx } from '@engine/tx.js';

/**
 * Makes a member what their identity provider says that they are, under `LockMembersCommand`. Sessions from before end, and so does what the member may not
 * have bots do any more. An owner stays one: people made them that.
 */
export class SetVouchedRoleCommand extends Command<null> {
  constructor(
    readonly tx: Tx,
    readonly memberId: string,
    readonly role: ServiceAccountRole,
  ) {
    super();
  }
}
