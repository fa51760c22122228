import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ModelConnectionNotFound } from '@domain/models/connection.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { lockConnection } from '../queries/connections.js';

export type DeleteConnectionFailure = ModelConnectionNotFound;

export class DeleteConnectionCommand extends Command<Result<void, DeleteConnectionFailure>> {
  constructor(
    readonly identity: Identity,
    readonly connectionId: string,
  ) {
    super();
  }
}

@CommandHandler(DeleteConnectionCommand)
export class DeleteConnectionHandler implements ICommandHandler<DeleteConnectionCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, connectionId: id }: DeleteConnectionCommand): Promise<Result<void, DeleteConnectionFailure>> {
    const { context } = identity;
    return transact<Result<void, DeleteConnectionFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'models.manage'));
      const row = await lockConnection(tx, context.organizationId, id);
      if (!row) return fail({ _tag: 'ModelConnectionNotFound' });
      await tx.query(
        `update model_connection set sealed_key = null, deleted_at = clock_timestamp(), updated_at = clock_timestamp(), revision = revision + 1
         where organization_id = $1 and id = $2`,
        [context.organizationId, id],
      );
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'connection.deleted', target: id, detail: {} }));
      return ok(undefined);
    });
  }
}
