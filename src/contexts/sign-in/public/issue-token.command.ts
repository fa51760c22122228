import { Command } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

export type NewToken = { readonly name: string; readonly expiresInMs: number | null };
/** `token` is the credential itself: nothing can read it again. */
export type IssuedToken = { readonly id: string; readonly token: string; readonly prefix: string; readonly createdAt: Date; readonly expiresAt: Date | null };

/**
 * Gives a member a new credential for the organization's default project. `within`: in the transaction of somebody who makes the member there; else it is
 * the operator who gives it.
 */
export class IssueTokenCommand extends Command<IssuedToken> {
  constructor(
    readonly context: TenantContext,
    readonly memberId: string,
    readonly wanted: NewToken,
    readonly within?: { readonly tx: Tx; readonly identity: Identity },
  ) {
    super();
  }
}
