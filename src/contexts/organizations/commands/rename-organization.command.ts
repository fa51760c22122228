import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { OrganizationConflict } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import { loadOrganization, type OrganizationRow } from '../queries/organization.js';

export class RenameOrganizationCommand extends Command<Result<OrganizationRow, OrganizationConflict>> {
  constructor(
    readonly identity: Identity,
    readonly change: { readonly name: string; readonly expected: number },
  ) {
    super();
  }
}

@CommandHandler(RenameOrganizationCommand)
export class RenameOrganizationHandler implements ICommandHandler<RenameOrganizationCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, change: { name, expected } }: RenameOrganizationCommand): Promise<Result<OrganizationRow, OrganizationConflict>> {
    return transact<Result<OrganizationRow, OrganizationConflict>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'organization.change'));
      const { id, revision } = await loadOrganization(tx);
      if (revision !== expected) return fail({ _tag: 'OrganizationConflict', revision });
      await tx.query(`update organization set name = $1, revision = revision + 1 where id = tenant_organization()`, [name]);
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'organization.renamed', target: id, detail: { revision: revision + 1 } }));
      return ok(await loadOrganization(tx));
    });
  }
}
