import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { Forbidden } from '@domain/organizations/member.js';
import type { ScimTokenNotFound } from '@domain/provisioning/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { deleteToken } from '../queries/scim-tokens.js';

export type DeleteScimTokenFailure = Forbidden | ScimTokenNotFound;

/** It counts no more from the next request on. What the directory said with it stays. */
export class DeleteScimTokenCommand extends Command<Result<null, DeleteScimTokenFailure>> {
  constructor(
    readonly identity: Identity,
    readonly providerId: string,
    readonly id: string,
  ) {
    super();
  }
}

@CommandHandler(DeleteScimTokenCommand)
export class DeleteScimTokenHandler implements ICommandHandler<DeleteScimTokenCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, providerId, id }: DeleteScimTokenCommand): Promise<Result<null, DeleteScimTokenFailure>> {
    if (!identity.permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    return transact<Result<null, DeleteScimTokenFailure>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      if (!(await deleteToken(tx, providerId, id))) return fail({ _tag: 'ScimTokenNotFound' });
      const detail = { provider: toPublicId('identityProvider', providerId) };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'scim_token.deleted', target: id, detail }));
      return ok(null);
    });
  }
}
