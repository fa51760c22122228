import { Command } from '@nestjs/cqrs';
import type { PermissionName } from '@domain/access/permissions.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

/**
 * Answers the caller as they are now, who stay so until the transaction ends: no change of who is a member, and of what, happens beside it. Throws
 * `RightLost` where they have not the permission any more that their request was let in with. Before every other row.
 */
export class LockRightsCommand extends Command<Identity> {
  constructor(
    readonly tx: Tx,
    readonly identity: Identity,
    readonly permission: PermissionName,
  ) {
    super();
  }
}
