import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '@domain/audit/entry.js';
import {
  checkAddressChange,
  type ConnectionSettings,
  type ModelConnectionConflict,
  type ModelConnectionInvalid,
  type ModelConnectionNameTaken,
  type ModelConnectionNotFound,
} from '@domain/models/connection.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { read, transact } from '@platform/database/transact.js';
import { Egress } from '@platform/egress/egress.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { keyBinding } from '../policies/connection-key.js';
import { findConnection, lockConnection, toSettings, type ConnectionRow } from '../queries/connections.js';
import { checkReachableConnection, withNameTaken } from './connection-rules.js';

/** What is left out stays. `apiKey: null` forgets the key. */
export type ConnectionChange = {
  readonly [Field in 'name' | 'baseUrl' | 'api' | 'models']?: ConnectionSettings[Field] | undefined;
} & { readonly apiKey?: string | null | undefined };
export type ChangeConnectionFailure = ModelConnectionNotFound | ModelConnectionConflict | ModelConnectionInvalid | ModelConnectionNameTaken;

/** `expected`: the revision that the caller has read. */
export class ChangeConnectionCommand extends Command<Result<ConnectionRow, ChangeConnectionFailure>> {
  constructor(
    readonly identity: Identity,
    readonly connectionId: string,
    readonly expected: number,
    readonly change: ConnectionChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeConnectionCommand)
export class ChangeConnectionHandler implements ICommandHandler<ChangeConnectionCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly egress: Egress,
  ) {}

  async execute({ identity, connectionId: id, expected, change }: ChangeConnectionCommand): Promise<Result<ConnectionRow, ChangeConnectionFailure>> {
    const { context } = identity;
    const { organizationId } = context;
    const seen = await read(this.db, context, (tx) => findConnection(tx, organizationId, id));
    const allowed = admitChange(seen, expected);
    if (!allowed.ok) return allowed;
    // Judged outside the transaction, on the revision that the transaction then insists on.
    const wanted = await this.wanted(allowed.value, change);
    if (!wanted.ok) return wanted;
    const key = await this.sealer.keyOf(organizationId);
    const sealed = typeof change.apiKey === 'string' ? key.seal(keyBinding(id), change.apiKey) : null;
    return withNameTaken(wanted.value.name, () =>
      transact<Result<ConnectionRow, ChangeConnectionFailure>>(this.db, context, async (tx) => {
        await this.commands.execute(new LockRightsCommand(tx, identity, 'models.manage'));
        const admitted = admitChange(await lockConnection(tx, organizationId, id), expected);
        if (!admitted.ok) return admitted;
        await updateConnection(tx, organizationId, id, wanted.value, { sealed, keep: change.apiKey === undefined });
        await this.commands.execute(new RecordAuditCommand(tx, identity, ...eventsOf(id, change, expected + 1)));
        return ok((await findConnection(tx, organizationId, id))!);
      }),
    );
  }

  private async wanted(row: ConnectionRow, { apiKey, ...change }: ConnectionChange): Promise<Result<ConnectionSettings, ModelConnectionInvalid>> {
    const before = toSettings(row);
    const hasKey = apiKey === undefined ? before.hasKey : apiKey !== null;
    const wanted = {
      kind: before.kind,
      name: change.name ?? before.name,
      baseUrl: change.baseUrl === undefined ? before.baseUrl : change.baseUrl,
      api: change.api === undefined ? before.api : change.api,
      models: change.models ?? before.models,
      hasKey,
    };
    const address = checkAddressChange({ from: before.baseUrl, to: wanted.baseUrl, hasKey, newKey: typeof apiKey === 'string' });
    return address.ok ? checkReachableConnection(this.egress, wanted) : address;
  }
}

/** A key is told of by itself: that it was replaced, and nothing of it. */
function eventsOf(target: string, { apiKey, ...change }: ConnectionChange, revision: number): AuditEvent[] {
  const fields = Object.keys(change).filter((name) => change[name as keyof typeof change] !== undefined);
  return [
    ...(fields.length > 0 ? [{ action: 'connection.changed' as const, target, detail: { fields, revision } }] : []),
    ...(apiKey === undefined ? [] : [{ action: apiKey === null ? ('connection.secret_removed' as const) : ('connection.secret_replaced' as const), target, detail: { revision } }]),
  ];
}

function admitChange(row: ConnectionRow | null, expected: number): Result<ConnectionRow, ModelConnectionNotFound | ModelConnectionConflict> {
  if (!row) return fail({ _tag: 'ModelConnectionNotFound' });
  if (row.revision !== expected) return fail({ _tag: 'ModelConnectionConflict', revision: row.revision });
  return ok(row);
}

async function updateConnection(
  tx: Tx,
  organizationId: string,
  id: string,
  settings: ConnectionSettings,
  key: { readonly sealed: Buffer | null; readonly keep: boolean },
): Promise<void> {
  await tx.query(
    `update model_connection
     set name = $3, base_url = $4, api = $5, models = $6, sealed_key = case when $7 then sealed_key else $8::bytea end,
         revision = revision + 1, updated_at = clock_timestamp()
     where organization_id = $1 and id = $2`,
    [organizationId, id, settings.name, settings.baseUrl, settings.api, JSON.stringify(settings.models), key.keep, key.sealed],
  );
}
