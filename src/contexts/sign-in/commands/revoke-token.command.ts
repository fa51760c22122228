import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { fail, ok, type Result } from '@domain/result.js';
import type { TokenNotFound } from '@domain/sign-in/token.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';

/** Ends one of the member's own tokens, maybe the one that asks. The row stays: work and receipts name it. */
export class RevokeTokenCommand extends Command<Result<null, TokenNotFound>> {
  constructor(
    readonly identity: Identity,
    readonly tokenId: string,
  ) {
    super();
  }
}

@CommandHandler(RevokeTokenCommand)
export class RevokeTokenHandler implements ICommandHandler<RevokeTokenCommand> {
  constructor(private readonly db: DataSource) {}

  execute({ identity: { context, memberId }, tokenId }: RevokeTokenCommand): Promise<Result<null, TokenNotFound>> {
    return transact(this.db, context, async (tx) => {
      const [, revoked] = await tx.query<[unknown[], number]>(
        `update credential set revoked_at = clock_timestamp()
         where organization_id = tenant_organization() and member_id = $1 and id = $2 and kind = 'user_token' and revoked_at is null`,
        [memberId, tokenId],
      );
      return revoked === 0 ? fail({ _tag: 'TokenNotFound' }) : ok(null);
    });
  }
}
