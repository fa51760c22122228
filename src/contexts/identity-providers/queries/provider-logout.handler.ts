import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { sessionBinding } from '../policies/bindings.js';
import { openProvider } from '../policies/open-provider.js';
import { OidcProtocol } from '../protocols/oidc.js';
import { ProviderLogoutQuery } from '../public/provider-logout.query.js';
import { findProviderSession } from './provider-sessions.js';
import { findEnabledProvider } from './providers.js';

@QueryHandler(ProviderLogoutQuery)
export class ProviderLogoutHandler implements IQueryHandler<ProviderLogoutQuery> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
    private readonly oidc: OidcProtocol,
  ) {}

  async execute({ context, sessionId, returnUrl }: ProviderLogoutQuery): Promise<string | null> {
    const [session, provider] = await read(this.db, context, async (tx) => {
      const found = await findProviderSession(tx, sessionId);
      return [found, found && (await findEnabledProvider(tx, found.provider_id))] as const;
    });
    if (!session || !provider) return null;
    const key = await this.sealer.keyOf(context.organizationId);
    return this.oidc.leave(openProvider(provider, key), key.open(sessionBinding(sessionId), session.sealed).toString('utf8'), returnUrl);
  }
}
