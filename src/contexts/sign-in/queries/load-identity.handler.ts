import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { rightsOfCredential } from '@domain/access/credentials.js';
import type { Rights } from '@domain/access/rights.js';
import { credentialCounts } from '@domain/sign-in/token.js';
import { read } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LoadIdentityQuery } from '../public/load-identity.query.js';
import { findCredentialById, type CredentialRow } from './tokens.js';

const rights = ({ member_kind, role, project_role, maker_role, maker_project_role, scopes, projects }: CredentialRow): Rights =>
  rightsOfCredential({
    kind: member_kind ?? 'api_key',
    acting: role && { role, projectRole: project_role },
    maker: { role: maker_role, projectRole: maker_project_role },
    scopes,
    projects,
  });

/** What a stored credential stands for; the caller has proven it or holds it from stored work. Nobody, as long as an API key has no mirror in the project. */
export const identityOf = (organizationId: string, row: CredentialRow): Identity | null =>
  credentialCounts(row) && row.member_id !== null
    ? {
        context: { organizationId, projectId: row.project_id },
        memberId: row.member_id,
        tokenId: row.id,
        credential: row.kind,
        role: row.role,
        permissions: rights(row),
        ...(row.expires_at ? { expiresAt: row.expires_at } : {}),
      }
    : null;

const withoutLeaving = (row: CredentialRow): CredentialRow => (row.kind === 'session' ? { ...row, expired: false, expires_at: null } : row);

@QueryHandler(LoadIdentityQuery)
export class LoadIdentityHandler implements IQueryHandler<LoadIdentityQuery> {
  constructor(private readonly db: DataSource) {}

  /** In the project of the work: a credential that may not act there any more is one that does not count. */
  async execute({ context, tokenId, tx, of }: LoadIdentityQuery): Promise<Identity | null> {
    const find = (own: Parameters<typeof findCredentialById>[0]) => findCredentialById(own, tokenId, context.projectId);
    const row = tx ? await find(tx) : await read(this.db, context, find);
    return row && (context.projectId === null || row.project_id === context.projectId) ? identityOf(context.organizationId, of === 'work' ? withoutLeaving(row) : row) : null;
  }
}
