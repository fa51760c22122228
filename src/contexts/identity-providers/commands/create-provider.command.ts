import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { IdentityProviderInvalid, IdentityProviderNameTaken, ProviderSettings } from '@domain/identity-providers/provider.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { Config } from '@platform/config/config.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import { Egress } from '@platform/egress/egress.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { secretBinding } from '../policies/bindings.js';
import { findProvider, type ProviderRow } from '../queries/providers.js';
import { checkReachableProvider, withProviderName } from './provider-rules.js';

export type CreateProviderFailure = Forbidden | IdentityProviderInvalid | IdentityProviderNameTaken;

export class CreateProviderCommand extends Command<Result<ProviderRow, CreateProviderFailure>> {
  constructor(
    readonly identity: Identity,
    readonly wanted: ProviderSettings,
    readonly secret: string | null,
  ) {
    super();
  }
}

@CommandHandler(CreateProviderCommand)
export class CreateProviderHandler implements ICommandHandler<CreateProviderCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly egress: Egress,
    private readonly config: Config,
  ) {}

  async execute({ identity, wanted, secret }: CreateProviderCommand): Promise<Result<ProviderRow, CreateProviderFailure>> {
    const { context, permissions } = identity;
    if (!permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    const checked = await checkReachableProvider(this.egress, wanted, this.config.production);
    if (!checked.ok) return checked;
    const id = uuidv7();
    const key = await this.sealer.keyOf(context.organizationId);
    const sealed = secret === null ? null : key.seal(secretBinding(id), secret);
    const { name, enabled, ...settings } = checked.value;
    return withProviderName(() =>
      transact(this.db, context, async (tx) => {
        await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
        await tx.query(
          `insert into identity_provider (organization_id, id, kind, name, enabled, settings, sealed_secret) values (tenant_organization(), $1, 'oidc', $2, $3, $4, $5)`,
          [id, name, enabled, JSON.stringify(settings), sealed],
        );
        await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'identity_provider.created', target: id, detail: { kind: 'oidc', secret: sealed !== null } }));
        return ok((await findProvider(tx, id))!);
      }),
    );
  }
}
