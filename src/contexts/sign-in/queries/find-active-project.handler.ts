import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindActiveProjectQuery } from '../public/find-active-project.query.js';
import { FindReachQuery } from '../public/find-reach.query.js';
import { findCredentialById } from './tokens.js';

@QueryHandler(FindActiveProjectQuery)
export class FindActiveProjectHandler implements IQueryHandler<FindActiveProjectQuery> {
  async execute({ tokenId, tx }: FindActiveProjectQuery): Promise<string | null> {
    return (await findCredentialById(tx, tokenId, null))?.project_id ?? null;
  }
}

@QueryHandler(FindReachQuery)
export class FindReachHandler implements IQueryHandler<FindReachQuery> {
  async execute({ tokenId, tx }: FindReachQuery): Promise<readonly string[] | null> {
    const credential = await findCredentialById(tx, tokenId, null);
    return credential ? credential.projects : [];
  }
}
