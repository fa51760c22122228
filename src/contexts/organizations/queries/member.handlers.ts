import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { FindDefaultProjectQuery, FindMembersQuery } from '../public/member.queries.js';
import { findMembers } from './members.js';
import { findDefaultProject } from './organization.js';

@QueryHandler(FindMembersQuery)
export class FindMembersHandler implements IQueryHandler<FindMembersQuery> {
  constructor(private readonly db: DataSource) {}

  execute({ context, ids, tx }: FindMembersQuery) {
    return tx ? findMembers(tx, ids) : read(this.db, context, (own) => findMembers(own, ids));
  }
}

@QueryHandler(FindDefaultProjectQuery)
export class FindDefaultProjectHandler implements IQueryHandler<FindDefaultProjectQuery> {
  constructor(private readonly db: DataSource) {}

  execute({ context, tx }: FindDefaultProjectQuery) {
    return tx ? findDefaultProject(tx) : read(this.db, context, findDefaultProject);
  }
}
