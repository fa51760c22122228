import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { lockProvider } from '../queries/providers.js';

export type DeleteProviderFailure = Forbidden | IdentityProviderNotFound;

/** Its secret and domains go; members stay, and whoever signed in by it alone needs another way. */
export class DeleteProviderCommand extends Command<Result<null, DeleteProviderFailure>> {
  constructor(
    readonly identity: Identity,
    readonly id: string,
  ) {
    super();
  }
}

@CommandHandler(DeleteProviderCommand)
export class DeleteProviderHandler implements ICommandHandler<DeleteProviderCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, id }: DeleteProviderCommand): Promise<Result<null, DeleteProviderFailure>> {
    if (!identity.permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    return transact<Result<null, DeleteProviderFailure>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      if (!(await lockProvider(tx, id))) return fail({ _tag: 'IdentityProviderNotFound' });
      const [released] = await tx.query<[{ id: string }[], number]>(
        `delete from organization_domain where organization_id = tenant_organization() and provider_id = $1 returning id`,
        [id],
      );
      await tx.query(
        `update identity_provider set deleted_at = clock_timestamp(), sealed_secret = null, enabled = false where organization_id = tenant_organization() and id = $1`,
        [id],
      );
      await this.commands.execute(
        new RecordAuditCommand(
          tx,
          identity,
          { action: 'identity_provider.deleted', target: id, detail: {} },
          ...released.map((domain) => ({ action: 'domain.released', target: domain.id, detail: {} }) as const),
        ),
      );
      return ok(null);
    });
  }
}
