import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ScimLastOwner, ScimNotFound, ScimVersionConflict } from '@domain/provisioning/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { deleteGroup, findGroup } from '../queries/groups.js';
import { listIdsOf } from '../queries/memberships.js';
import { findUsers } from '../queries/users.js';
import { placeMembers } from './place-member.js';

export type DeleteGroupFailure = ScimNotFound | ScimVersionConflict | ScimLastOwner;

/** Forgets a group. Whoever was in it is what their other groups make of them. */
export class DeleteGroupCommand extends Command<Result<null, DeleteGroupFailure>> {
  constructor(
    readonly directory: Directory,
    readonly id: string,
    readonly revision: number | null,
  ) {
    super();
  }
}

@CommandHandler(DeleteGroupCommand)
export class DeleteGroupHandler implements ICommandHandler<DeleteGroupCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory: { context, providerId, tokenId }, id, revision }: DeleteGroupCommand): Promise<Result<null, DeleteGroupFailure>> {
    const deleted = await transact<Result<readonly string[], DeleteGroupFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const provider = await this.queries.execute(new FindProviderQuery(providerId, tx));
      const group = provider && (await findGroup(tx, providerId, id));
      if (!group) return fail({ _tag: 'ScimNotFound' });
      if (revision !== null && revision !== group.revision) return fail({ _tag: 'ScimVersionConflict' });
      const members = await listIdsOf(tx, id);
      await deleteGroup(tx, id);
      const detail = { members: members.length, token: toPublicId('scimToken', tokenId) };
      await this.commands.execute(new RecordAuditCommand(tx, { kind: 'service', service: 'directory' }, { action: 'directory_group.deleted', target: id, detail }));
      const placed = await placeMembers(tx, { commands: this.commands, queries: this.queries, context }, provider, await findUsers(tx, providerId, members));
      return placed.ok ? placed : fail({ _tag: 'ScimLastOwner' });
    });
    if (!deleted.ok) return deleted;
    this.wake.publish(deleted.value);
    return ok(null);
  }
}
