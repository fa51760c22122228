import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { tokenCounts } from '@domain/sign-in/token.js';
import { read } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LoadIdentityQuery } from '../public/load-identity.query.js';
import { findCredentialById, type CredentialRow } from './tokens.js';

/** What a stored credential stands for; the caller has proven it or holds it from stored work. */
export const identityOf = (organizationId: string, row: CredentialRow): Identity | null =>
  tokenCounts(row) ? { context: { organizationId, projectId: row.project_id }, memberId: row.member_id, tokenId: row.id, role: row.role } : null;

@QueryHandler(LoadIdentityQuery)
export class LoadIdentityHandler implements IQueryHandler<LoadIdentityQuery> {
  constructor(private readonly db: DataSource) {}

  async execute({ context, tokenId, tx }: LoadIdentityQuery): Promise<Identity | null> {
    const row = tx ? await findCredentialById(tx, tokenId) : await read(this.db, context, (own) => findCredentialById(own, tokenId));
    return row && identityOf(context.organizationId, row);
  }
}
