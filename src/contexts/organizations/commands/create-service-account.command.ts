import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { mayAppoint } from '@domain/access/rights.js';
import type { ServiceAccountRole } from '@domain/access/roles.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import type { ServiceAccount } from '../public/member.queries.js';

/** Makes a principal for a program: nobody's e-mail, and no credential yet. */
export class CreateServiceAccountCommand extends Command<Result<ServiceAccount, Forbidden>> {
  constructor(
    readonly identity: Identity,
    readonly wanted: { readonly name: string; readonly role: ServiceAccountRole },
  ) {
    super();
  }
}

@CommandHandler(CreateServiceAccountCommand)
export class CreateServiceAccountHandler implements ICommandHandler<CreateServiceAccountCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, wanted: { name, role } }: CreateServiceAccountCommand): Promise<Result<ServiceAccount, Forbidden>> {
    return transact<Result<ServiceAccount, Forbidden>>(this.db, identity.context, async (tx) => {
      const { permissions } = await this.commands.execute(new LockRightsCommand(tx, identity, 'members.create'));
      if (!mayAppoint(permissions, role)) return fail({ _tag: 'Forbidden' });
      const id = uuidv7();
      const [made] = await tx.query<{ created_at: Date }[]>(
        `insert into member (organization_id, id, kind, name, role) values (tenant_organization(), $1, 'service_account', $2, $3) returning created_at`,
        [id, name, role],
      );
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'member.created', target: id, detail: { kind: 'service_account', role } }));
      return ok({ id, name, role, suspended: false, revision: 1, createdAt: made!.created_at });
    });
  }
}
