import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { FindMemberQuery, FindMembersQuery, FindPersonByEmailQuery, FindServiceAccountQuery, FindStandingsQuery, WasRemovedQuery } from '../public/member.queries.js';
import { findMember, findMembers, findNamedMembers, findPersonByEmail, wasRemoved } from './members.js';
import { findServiceAccount } from './service-accounts.js';

@QueryHandler(FindMembersQuery)
export class FindMembersHandler implements IQueryHandler<FindMembersQuery> {
  constructor(private readonly db: DataSource) {}

  execute({ context, ids, tx }: FindMembersQuery) {
    return tx ? findNamedMembers(tx, ids) : read(this.db, context, (own) => findNamedMembers(own, ids));
  }
}

@QueryHandler(FindServiceAccountQuery)
export class FindServiceAccountHandler implements IQueryHandler<FindServiceAccountQuery> {
  constructor(private readonly db: DataSource) {}

  execute({ context, id }: FindServiceAccountQuery) {
    return read(this.db, context, (tx) => findServiceAccount(tx, id));
  }
}

@QueryHandler(FindMemberQuery)
export class FindMemberHandler implements IQueryHandler<FindMemberQuery> {
  execute({ id, tx }: FindMemberQuery) {
    return findMember(tx, id);
  }
}

@QueryHandler(FindStandingsQuery)
export class FindStandingsHandler implements IQueryHandler<FindStandingsQuery> {
  execute({ ids, tx }: FindStandingsQuery) {
    return findMembers(tx, ids);
  }
}

@QueryHandler(FindPersonByEmailQuery)
export class FindPersonByEmailHandler implements IQueryHandler<FindPersonByEmailQuery> {
  execute({ email, tx }: FindPersonByEmailQuery) {
    return findPersonByEmail(tx, email);
  }
}

@QueryHandler(WasRemovedQuery)
export class WasRemovedHandler implements IQueryHandler<WasRemovedQuery> {
  execute({ email, tx }: WasRemovedQuery) {
    return wasRemoved(tx, email);
  }
}
