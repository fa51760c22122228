import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { mayAppoint } from '@domain/access/rights.js';
import type { Forbidden, MemberNotFound } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { FindMemberQuery } from '@contexts/organizations/public/member.queries.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { EndSessionsCommand } from '../public/end-sessions.command.js';

export type EndMemberSessionsFailure = Forbidden | MemberNotFound;

/** Ends all sessions of a member who may do nothing that the caller may not. */
export class EndMemberSessionsCommand extends Command<Result<null, EndMemberSessionsFailure>> {
  constructor(
    readonly identity: Identity,
    readonly memberId: string,
  ) {
    super();
  }
}

@CommandHandler(EndMemberSessionsCommand)
export class EndMemberSessionsHandler implements ICommandHandler<EndMemberSessionsCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, memberId }: EndMemberSessionsCommand): Promise<Result<null, EndMemberSessionsFailure>> {
    const { context } = identity;
    return transact<Result<null, EndMemberSessionsFailure>>(this.db, context, async (tx) => {
      const { permissions } = await this.commands.execute(new LockRightsCommand(tx, identity, 'members.manage'));
      const member = await this.queries.execute(new FindMemberQuery(context, memberId, tx));
      if (!member) return fail({ _tag: 'MemberNotFound' });
      if (!mayAppoint(permissions, member.role)) return fail({ _tag: 'Forbidden' });
      await this.commands.execute(new EndSessionsCommand(tx, identity, { memberId, reason: 'administrator' }));
      return ok(null);
    });
  }
}
