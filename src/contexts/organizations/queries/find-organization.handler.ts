import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindOrganizationQuery } from '../public/find-organization.query.js';
import { findOrganization } from './organization.js';

@QueryHandler(FindOrganizationQuery)
export class FindOrganizationHandler implements IQueryHandler<FindOrganizationQuery> {
  execute({ tx }: FindOrganizationQuery) {
    return findOrganization(tx);
  }
}
