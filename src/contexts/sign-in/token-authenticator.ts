import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { credentialCounts } from '@domain/sign-in/token.js';
import { MirrorKeyCommand } from '@contexts/organizations/public/mirror-key.command.js';
import { Config } from '@platform/config/config.js';
import { read, transact } from '@platform/database/transact.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import type { Identity } from '@platform/identity/identity.js';
import { isClosed } from '@platform/identity/development-organization.js';
import { parseToken, provesToken } from '@platform/identity/credential-text.js';
import { identityOf } from './queries/load-identity.handler.js';
import { CredentialLookups } from './queries/credential-lookups.js';
import { findCredentialById, type CredentialRow } from './queries/tokens.js';

/** Every request reads its token and member anew: a revoked token or a suspended member is out with the next one, on every node. */
@Injectable()
export class TokenAuthenticator extends Authenticator implements BeforeApplicationShutdown {
  private readonly log = new Logger(TokenAuthenticator.name);
  /** By token. A use that is being recorded is not recorded twice. */
  private readonly recording = new Map<string, Promise<void>>();

  private readonly lookups: CredentialLookups;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly commands: CommandBus,
  ) {
    super();
    this.lookups = new CredentialLookups(db);
  }

  async authenticate(bearer: string, projectId: string | null): Promise<Identity | null> {
    const given = parseToken(bearer);
    if (!given) return null;
    const { organizationId, prefix, hash } = given;
    if (isClosed(this.config, organizationId)) return null;
    const rows = await this.lookups.find(organizationId, { prefix, projectId });
    const proven = rows.find((row) => provesToken(row.hash, hash) || (row.old_hash !== null && provesToken(row.old_hash, hash)));
    if (!proven) return null;
    const identity = identityOf(organizationId, await this.withMirror(organizationId, proven));
    if (identity && proven.use_is_old) this.recordUse(organizationId, proven.id);
    return identity;
  }

  /** An API key acts in each project as a member of its own, made when it first does. */
  private async withMirror(organizationId: string, row: CredentialRow): Promise<CredentialRow> {
    if (row.member_id !== null || !credentialCounts(row)) return row;
    const context = { organizationId, projectId: row.project_id };
    await this.commands.execute(new MirrorKeyCommand(context, { id: row.id, name: row.name }));
    return (await read(this.db, context, (tx) => findCredentialById(tx, row.id, row.project_id))) ?? row;
  }

  /** The pool is closed in the step after this one. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.recording.values());
  }

  /** Beside the request, which never waits for it and never fails by it. */
  private recordUse(organizationId: string, tokenId: string): void {
    if (this.recording.has(tokenId)) return;
    const recorded = transact(this.db, { organizationId, projectId: null }, async (tx) => {
      await tx.query(
        `update credential set last_used_at = clock_timestamp(), idle_until = case when kind = 'session' then clock_timestamp() + $2 * interval '1 millisecond' end
         where organization_id = tenant_organization() and id = $1 and coalesce(last_used_at < clock_timestamp() - interval '1 minute', true)`,
        [tokenId, this.config.sessionIdleMs],
      );
      return ok(null);
    }).then(
      () => undefined,
      () => this.log.warn(`the use of token ${tokenId} was not recorded`),
    );
    this.recording.set(
      tokenId,
      recorded.finally(() => this.recording.delete(tokenId)),
    );
  }
}
