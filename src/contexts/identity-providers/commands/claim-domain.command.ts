import { randomBytes } from 'node:crypto';
import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { DomainClaimed, DomainInvalid } from '@domain/identity-providers/domain-failures.js';
import { domainName } from '@domain/identity-providers/domain-name.js';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { findDomain, type DomainRow } from '../queries/domains.js';
import { lockProvider } from '../queries/providers.js';

export type ClaimDomainFailure = Forbidden | DomainInvalid | DomainClaimed | IdentityProviderNotFound;

/** Says that a domain is the organization's, and who speaks for it. It counts for nothing until it is shown. */
export class ClaimDomainCommand extends Command<Result<DomainRow, ClaimDomainFailure>> {
  constructor(
    readonly identity: Identity,
    readonly domain: string,
    readonly providerId: string,
  ) {
    super();
  }
}

@CommandHandler(ClaimDomainCommand)
export class ClaimDomainHandler implements ICommandHandler<ClaimDomainCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, domain, providerId }: ClaimDomainCommand): Promise<Result<DomainRow, ClaimDomainFailure>> {
    if (!identity.permissions.has('sso.manage')) return fail({ _tag: 'Forbidden' });
    const name = domainName(domain);
    if (name === null) return fail({ _tag: 'DomainInvalid', field: 'domain' });
    return transact<Result<DomainRow, ClaimDomainFailure>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'sso.manage'));
      if (!(await lockProvider(tx, providerId))) return fail({ _tag: 'IdentityProviderNotFound' });
      const id = uuidv7();
      const made = await tx.query<unknown[]>(
        `insert into organization_domain (organization_id, id, domain, provider_id, proof) values (tenant_organization(), $1, $2, $3, $4)
         on conflict (organization_id, domain) do nothing returning id`,
        [id, name, providerId, randomBytes(24).toString('base64url')],
      );
      if (made.length === 0) return fail({ _tag: 'DomainClaimed', field: 'domain' });
      const detail = { provider: toPublicId('identityProvider', providerId) };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'domain.claimed', target: id, detail }));
      return ok((await findDomain(tx, id))!);
    });
  }
}
