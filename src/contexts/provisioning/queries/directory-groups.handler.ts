import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DirectoryGroupsQuery } from '../public/directory-groups.query.js';
import { listGroupsOf, namesOf } from './memberships.js';
import { findUserOfMember } from './users.js';

@QueryHandler(DirectoryGroupsQuery)
export class DirectoryGroupsHandler implements IQueryHandler<DirectoryGroupsQuery> {
  async execute({ providerId, memberId, tx }: DirectoryGroupsQuery): Promise<readonly string[] | null> {
    const user = await findUserOfMember(tx, providerId, memberId);
    return user?.in_groups ? namesOf(await listGroupsOf(tx, [user.id])) : null;
  }
}
