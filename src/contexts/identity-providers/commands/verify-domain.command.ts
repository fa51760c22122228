import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { DomainNotFound, DomainUnproven, DomainUnreachable } from '@domain/identity-providers/domain-failures.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { AuditActor } from '@domain/audit/entry.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { read, transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { DomainRecords } from '../domain-records.js';
import { VouchForDomainCommand } from '../public/vouch-for-domain.command.js';
import { findDomain, markVerified, recordOf, type DomainRow } from '../queries/domains.js';

export type VerifyDomainFailure = Forbidden | DomainNotFound | DomainUnproven | DomainUnreachable;

/** Looks whether the domain says that it is the organization's. Once it has, it stays so until it is released. */
export class VerifyDomainCommand extends Command<Result<DomainRow, VerifyDomainFailure>> {
  constructor(
    readonly identity: Identity,
    readonly id: string,
  ) {
    super();
  }
}

@CommandHandler(VerifyDomainCommand)
export class VerifyDomainHandler implements ICommandHandler<VerifyDomainCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly records: DomainRecords,
  ) {}

  async execute({ identity, id }: VerifyDomainCommand): Promise<Result<DomainRow, VerifyDomainFailure>> {
    if (!identity.permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    const claimed = await read(this.db, identity.context, (tx) => findDomain(tx, id));
    if (!claimed) return fail({ _tag: 'DomainNotFound' });
    const { name, value } = recordOf(claimed);
    const found = await this.records.findTexts(name);
    if (found === null) return fail({ _tag: 'DomainUnreachable', retryAfterMs: 10_000 });
    if (!found.includes(value)) return fail({ _tag: 'DomainUnproven', name, value, found: found.length });
    return transact<Result<DomainRow, DomainNotFound>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      return storeVerified(tx, this.commands, { who: identity, by: 'dns', id });
    });
  }
}

/** Where no DNS can tell, the operator's word counts. */
@CommandHandler(VouchForDomainCommand)
export class VouchForDomainHandler implements ICommandHandler<VouchForDomainCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ organizationId, domain }: VouchForDomainCommand): Promise<Result<null, DomainNotFound>> {
    const context = { organizationId, projectId: null };
    const [claimed] = await read(this.db, context, (tx) =>
      tx.query<{ id: string }[]>(`select id from organization_domain where organization_id = tenant_organization() and domain = $1`, [domain]),
    );
    if (!claimed) return fail({ _tag: 'DomainNotFound' });
    const vouched = { who: { kind: 'operator' }, by: 'operator', id: claimed.id } as const;
    const stored = await transact<Result<DomainRow, DomainNotFound>>(this.db, context, (tx) => storeVerified(tx, this.commands, vouched));
    return stored.ok ? ok(null) : stored;
  }
}

type Shown = { readonly who: Identity | AuditActor; readonly by: 'dns' | 'operator'; readonly id: string };

async function storeVerified(tx: Tx, commands: CommandBus, { who, by, id }: Shown): Promise<Result<DomainRow, DomainNotFound>> {
  await markVerified(tx, id);
  const row = await findDomain(tx, id);
  if (!row) return fail({ _tag: 'DomainNotFound' });
  await commands.execute(new RecordAuditCommand(tx, who, { action: 'domain.verified', target: id, detail: { by } }));
  return ok(row);
}
