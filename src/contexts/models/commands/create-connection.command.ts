import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ConnectionSettings, ModelConnectionInvalid, ModelConnectionNameTaken } from '@domain/models/connection.js';
import { ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import { Egress } from '@platform/egress/egress.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { keyBinding } from '../policies/connection-key.js';
import { findConnection, type ConnectionRow } from '../queries/connections.js';
import { checkReachableConnection, withNameTaken } from './connection-rules.js';

export type NewConnection = Omit<ConnectionSettings, 'hasKey'> & { readonly apiKey: string | null };
export type CreateConnectionFailure = ModelConnectionInvalid | ModelConnectionNameTaken;

export class CreateConnectionCommand extends Command<Result<ConnectionRow, CreateConnectionFailure>> {
  constructor(
    readonly identity: Identity,
    readonly wanted: NewConnection,
  ) {
    super();
  }
}

@CommandHandler(CreateConnectionCommand)
export class CreateConnectionHandler implements ICommandHandler<CreateConnectionCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly egress: Egress,
  ) {}

  async execute({ identity, wanted: { apiKey, ...wanted } }: CreateConnectionCommand): Promise<Result<ConnectionRow, CreateConnectionFailure>> {
    const { context } = identity;
    const checked = await checkReachableConnection(this.egress, { ...wanted, hasKey: apiKey !== null });
    if (!checked.ok) return checked;
    const id = uuidv7();
    const key = await this.sealer.keyOf(context.organizationId);
    const sealed = apiKey === null ? null : key.seal(keyBinding(id), apiKey);
    return withNameTaken(wanted.name, () =>
      transact(this.db, context, async (tx) => {
        await this.commands.execute(new LockRightsCommand(tx, identity, 'models.manage'));
        await insertConnection(tx, context.organizationId, id, checked.value, sealed);
        const detail = { kind: wanted.kind, key: sealed !== null };
        await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'connection.created', target: id, detail }));
        return ok((await findConnection(tx, context.organizationId, id))!);
      }),
    );
  }
}

async function insertConnection(tx: Tx, organizationId: string, id: string, settings: ConnectionSettings, sealedKey: Buffer | null): Promise<void> {
  await tx.query(`insert into model_connection (organization_id, id, kind, name, base_url, api, sealed_key, models) values ($1, $2, $3, $4, $5, $6, $7, $8)`, [
    organizationId,
    id,
    settings.kind,
    settings.name,
    settings.baseUrl,
    settings.api,
    sealedKey,
    JSON.stringify(settings.models),
  ]);
}
