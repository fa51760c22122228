import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { FindMembersQuery } from '../public/member.queries.js';
import { findMembers } from './members.js';

@QueryHandler(FindMembersQuery)
export class FindMembersHandler implements IQueryHandler<FindMembersQuery> {
  constructor(private readonly db: DataSource) {}

  execute({ context, ids, tx }: FindMembersQuery) {
    return tx ? findMembers(tx, ids) : read(this.db, context, (own) => findMembers(own, ids));
  }
}
