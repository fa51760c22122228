import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ScimInvalid, ScimLastOwner, ScimNotFound } from '@domain/provisioning/failures.js';
import { replaced, type DirectoryGroup } from '@domain/provisioning/group.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { insertGroup, type GroupRow } from '../queries/groups.js';
import { findUsers } from '../queries/users.js';
import { changeMembership } from './change-membership.js';
import { placeMembers } from './place-member.js';

export type CreateGroupFailure = ScimInvalid | ScimNotFound | ScimLastOwner;

/** Takes in a group of whom a directory tells, and makes those in it what it is mapped to. */
export class CreateGroupCommand extends Command<Result<GroupRow, CreateGroupFailure>> {
  constructor(
    readonly directory: Directory,
    readonly group: DirectoryGroup,
  ) {
    super();
  }
}

@CommandHandler(CreateGroupCommand)
export class CreateGroupHandler implements ICommandHandler<CreateGroupCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory: { context, providerId, tokenId }, group }: CreateGroupCommand): Promise<Result<GroupRow, CreateGroupFailure>> {
    const made = await transact<Result<{ readonly row: GroupRow; readonly touched: readonly string[] }, CreateGroupFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const provider = await this.queries.execute(new FindProviderQuery(providerId, tx));
      if (!provider) return fail({ _tag: 'ScimNotFound' });
      const row = await insertGroup(tx, uuidv7(), providerId, group);
      const members = await changeMembership(tx, providerId, row.id, replaced(group));
      if (!members.ok) return members;
      const detail = { members: members.value.added.length, token: toPublicId('scimToken', tokenId) };
      await this.commands.execute(new RecordAuditCommand(tx, { kind: 'service', service: 'directory' }, { action: 'directory_group.created', target: row.id, detail }));
      const users = await findUsers(tx, providerId, members.value.added);
      const placed = await placeMembers(tx, { commands: this.commands, queries: this.queries, context }, provider, users);
      return placed.ok ? ok({ row, touched: placed.value }) : fail({ _tag: 'ScimLastOwner' });
    });
    if (!made.ok) return made;
    this.wake.publish(made.value.touched);
    return ok(made.value.row);
  }
}
