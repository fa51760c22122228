import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { parseToken, provesToken } from '@platform/identity/credential-text.js';
import { isClosed } from '@platform/identity/development-organization.js';
import { DirectoryAuthenticator, type Directory } from '@platform/identity/directory.js';
import { findTokens, markTokenUsed } from './queries/scim-tokens.js';

/** Read anew for every request: a token that was deleted, and one whose provider was switched off, is out with the next one, on every node. */
@Injectable()
export class DirectoryTokens extends DirectoryAuthenticator {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly config: Config,
  ) {
    super();
  }

  async authenticate(bearer: string): Promise<Directory | null> {
    const given = parseToken(bearer);
    if (given?.start !== 'obd_' || isClosed(this.config, given.organizationId)) return null;
    const context = { organizationId: given.organizationId, projectId: null };
    const found = await read(this.db, context, async (tx) => {
      const token = (await findTokens(tx, given.prefix)).find(({ hash }) => provesToken(hash, given.hash));
      const provider = token && (await this.queries.execute(new FindProviderQuery(token.provider_id, tx)));
      return provider?.enabled ? token : null;
    });
    if (!found) return null;
    if (found.use_is_old) await markTokenUsed(this.db, context, found.id);
    return { context, providerId: found.provider_id, tokenId: found.id };
  }
}
