import { Command } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';

export type NewToken = { readonly name: string; readonly expiresInMs: number | null };
/** `token` is the credential itself: nothing can read it again. */
export type IssuedToken = { readonly id: string; readonly token: string; readonly prefix: string; readonly createdAt: Date; readonly expiresAt: Date | null };

/** Gives an owner a first token, as the operator of the installation: no caller of the API is handed one in somebody else's name. */
export class IssueTokenCommand extends Command<IssuedToken> {
  constructor(
    readonly context: TenantContext,
    readonly memberId: string,
    readonly wanted: NewToken,
  ) {
    super();
  }
}
