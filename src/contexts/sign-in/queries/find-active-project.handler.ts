import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindActiveProjectQuery } from '../public/find-active-project.query.js';
import { findCredentialById } from './tokens.js';

@QueryHandler(FindActiveProjectQuery)
export class FindActiveProjectHandler implements IQueryHandler<FindActiveProjectQuery> {
  async execute({ tokenId, tx }: FindActiveProjectQuery): Promise<string | null> {
    return (await findCredentialById(tx, tokenId, null))?.project_id ?? null;
  }
}
