import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { IdentityProviderConflict, IdentityProviderNotFound, ProviderSettings } from '@domain/identity-providers/provider.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { Config } from '@platform/config/config.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { read, transact } from '@platform/database/transact.js';
import { Egress } from '@platform/egress/egress.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { secretBinding } from '../policies/bindings.js';
import { findProvider, lockProvider, toSettings, type ProviderRow } from '../queries/providers.js';
import type { CreateProviderFailure } from './create-provider.command.js';
import { checkReachableProvider, withProviderName } from './provider-rules.js';

/** What is undefined stays as it is. A secret of null is forgotten. */
export type ProviderChange = { readonly [F in keyof ProviderSettings]?: ProviderSettings[F] | undefined } & { readonly secret?: string | null | undefined };
export type ChangeProviderFailure = CreateProviderFailure | IdentityProviderNotFound | IdentityProviderConflict;

/** Sessions that it began go on. Whoever leaves by a provider that is switched off is left to people. */
export class ChangeProviderCommand extends Command<Result<ProviderRow, ChangeProviderFailure>> {
  constructor(
    readonly identity: Identity,
    readonly id: string,
    readonly expected: number,
    readonly change: ProviderChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeProviderCommand)
export class ChangeProviderHandler implements ICommandHandler<ChangeProviderCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly egress: Egress,
    private readonly config: Config,
  ) {}

  async execute({ identity, id, expected, change: { secret, ...change } }: ChangeProviderCommand): Promise<Result<ProviderRow, ChangeProviderFailure>> {
    const { context, permissions } = identity;
    if (!permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    const before = await read(this.db, context, (tx) => findProvider(tx, id));
    if (!before) return fail({ _tag: 'IdentityProviderNotFound' });
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const wanted = { ...toSettings(before), ...given };
    // The secret is the provider's to which it was given: another one must not be sent it.
    if (wanted.issuer !== before.settings.issuer && before.has_secret && secret === undefined)
      return fail({ _tag: 'IdentityProviderInvalid', field: 'clientSecret', reason: 'must be given again with another issuer' });
    const checked = await checkReachableProvider(this.egress, wanted, this.config.production);
    if (!checked.ok) return checked;
    const key = await this.sealer.keyOf(context.organizationId);
    const sealed = typeof secret === 'string' ? key.seal(secretBinding(id), secret) : null;
    return withProviderName(() =>
      transact<Result<ProviderRow, IdentityProviderNotFound | IdentityProviderConflict>>(this.db, context, async (tx) => {
        await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
        const row = await lockProvider(tx, id);
        if (!row) return fail({ _tag: 'IdentityProviderNotFound' });
        if (row.revision !== expected) return fail({ _tag: 'IdentityProviderConflict', revision: row.revision });
        await store(tx, id, checked.value, { sealed, replaced: secret !== undefined });
        const fields = [...Object.keys(given), ...(secret === undefined ? [] : ['clientSecret'])];
        await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'identity_provider.changed', target: id, detail: { fields, revision: row.revision + 1 } }));
        return ok((await findProvider(tx, id))!);
      }),
    );
  }
}

const store = (tx: Tx, id: string, { name, enabled, ...settings }: ProviderSettings, secret: { readonly sealed: Buffer | null; readonly replaced: boolean }): Promise<unknown> =>
  tx.query(
    `update identity_provider set name = $2, enabled = $3, settings = $4, sealed_secret = case when $5 then $6::bytea else sealed_secret end, revision = revision + 1,
       updated_at = clock_timestamp() where organization_id = tenant_organization() and id = $1`,
    [id, name, enabled, JSON.stringify(settings), secret.replaced, secret.sealed],
  );
