import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { DomainNotFound } from '@domain/identity-providers/domain-failures.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';

export type ReleaseDomainFailure = Forbidden | DomainNotFound;

/** Nobody is let in by an address of it any more. Whoever was, stays, and signs in as before. */
export class ReleaseDomainCommand extends Command<Result<null, ReleaseDomainFailure>> {
  constructor(
    readonly identity: Identity,
    readonly id: string,
  ) {
    super();
  }
}

@CommandHandler(ReleaseDomainCommand)
export class ReleaseDomainHandler implements ICommandHandler<ReleaseDomainCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, id }: ReleaseDomainCommand): Promise<Result<null, ReleaseDomainFailure>> {
    if (!identity.permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    return transact<Result<null, ReleaseDomainFailure>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      const [gone] = await tx.query<[unknown[], number]>(`delete from organization_domain where organization_id = tenant_organization() and id = $1 returning id`, [id]);
      if (gone.length === 0) return fail({ _tag: 'DomainNotFound' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'domain.released', target: id, detail: {} }));
      return ok(null);
    });
  }
}
