import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { domainOf } from '@domain/identity-providers/domain-name.js';
import { FindProviderQuery, SignsInElsewhereQuery, SpeaksForQuery, type FoundProvider } from '../public/find-provider.query.js';
import { isVerifiedFor } from './domains.js';
import { findProvider } from './providers.js';

@QueryHandler(FindProviderQuery)
export class FindProviderHandler implements IQueryHandler<FindProviderQuery> {
  async execute({ id, tx }: FindProviderQuery): Promise<FoundProvider | null> {
    const row = await findProvider(tx, id);
    return row && { id, enabled: row.enabled, rules: row.settings };
  }
}

@QueryHandler(SpeaksForQuery)
export class SpeaksForHandler implements IQueryHandler<SpeaksForQuery> {
  async execute({ providerId, email, tx }: SpeaksForQuery): Promise<boolean> {
    const domain = domainOf(email);
    return domain !== null && (await isVerifiedFor(tx, providerId, domain));
  }
}

@QueryHandler(SignsInElsewhereQuery)
export class SignsInElsewhereHandler implements IQueryHandler<SignsInElsewhereQuery> {
  async execute({ providerId, memberId, tx }: SignsInElsewhereQuery): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      `select 1 from linked_identity i join identity_provider p on p.organization_id = i.organization_id and p.id = i.provider_id and p.deleted_at is null
       where i.organization_id = tenant_organization() and i.member_id = $2 and i.provider_id <> $1 limit 1`,
      [providerId, memberId],
    );
    return rows.length > 0;
  }
}
