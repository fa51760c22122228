import { Command } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';
import type { Tx } from '@engine/tx.js';

export type NewToken = { readonly name: string; readonly expiresInMs: number | null };
/** `token` is the credential itself: nothing can read it again. */
export type IssuedToken = { readonly id: string; readonly token: string; readonly prefix: string; readonly createdAt: Date; readonly expiresAt: Date | null };

/** Gives a member a new credential for the organization's default project. `tx` writes in the caller's transaction; the member exists in it. */
export class IssueTokenCommand extends Command<IssuedToken> {
  constructor(
    readonly context: TenantContext,
    readonly memberId: string,
    readonly wanted: NewToken,
    readonly tx?: Tx,
  ) {
    super();
  }
}
