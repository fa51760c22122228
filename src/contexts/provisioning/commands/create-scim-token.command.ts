import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import type { Forbidden } from '@domain/organizations/member.js';
import type { TooManyScimTokens } from '@domain/provisioning/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { countTokens, insertToken, type ShownScimToken } from '../queries/scim-tokens.js';

/** Enough to rotate one: the second is there before the first goes. */
export const mostTokens = 10;

export type MadeScimToken = { readonly secret: string; readonly shown: ShownScimToken };
export type CreateScimTokenFailure = Forbidden | IdentityProviderNotFound | TooManyScimTokens;

/** Makes a token by which the directory of an identity provider says who is there. */
export class CreateScimTokenCommand extends Command<Result<MadeScimToken, CreateScimTokenFailure>> {
  constructor(
    readonly identity: Identity,
    readonly providerId: string,
    readonly wanted: { readonly name: string; readonly expiresInMs: number | null },
  ) {
    super();
  }
}

@CommandHandler(CreateScimTokenCommand)
export class CreateScimTokenHandler implements ICommandHandler<CreateScimTokenCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  async execute({ identity, providerId, wanted }: CreateScimTokenCommand): Promise<Result<MadeScimToken, CreateScimTokenFailure>> {
    const { context, permissions, memberId } = identity;
    if (!permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    const { token: secret, prefix, hash } = newToken(context.organizationId, 'obd_');
    return transact<Result<MadeScimToken, CreateScimTokenFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      if (!(await this.queries.execute(new FindProviderQuery(providerId, tx)))) return fail({ _tag: 'IdentityProviderNotFound' });
      if ((await countTokens(tx, providerId)) >= mostTokens) return fail({ _tag: 'TooManyScimTokens', most: mostTokens });
      const shown = await insertToken(tx, { id: uuidv7(), providerId, prefix, hash, createdBy: memberId, ...wanted });
      const detail = { provider: toPublicId('identityProvider', providerId), expiresInMs: wanted.expiresInMs };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'scim_token.created', target: shown.id, detail }));
      return ok({ secret, shown });
    });
  }
}
