import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ScimLastOwner, ScimNotFound, ScimVersionConflict } from '@domain/provisioning/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { SetDirectoryStopCommand } from '@contexts/organizations/public/set-directory-stop.command.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { deleteUser, findUser } from '../queries/users.js';
import { followMember } from './follow-member.js';

export type DeleteUserFailure = ScimNotFound | ScimVersionConflict | ScimLastOwner;

/** Forgets what a directory said of a person, who is gone by it. The member stays, stopped: what they made names them, and people alone remove members. */
export class DeleteUserCommand extends Command<Result<null, DeleteUserFailure>> {
  constructor(
    readonly directory: Directory,
    readonly id: string,
    readonly revision: number | null,
  ) {
    super();
  }
}

@CommandHandler(DeleteUserCommand)
export class DeleteUserHandler implements ICommandHandler<DeleteUserCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory: { context, providerId, tokenId }, id, revision }: DeleteUserCommand): Promise<Result<null, DeleteUserFailure>> {
    const deleted = await transact<Result<readonly string[], DeleteUserFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const found = await findUser(tx, providerId, id);
      if (!found) return fail({ _tag: 'ScimNotFound' });
      if (revision !== null && revision !== found.revision) return fail({ _tag: 'ScimVersionConflict' });
      const row = await followMember(tx, { queries: this.queries, context }, providerId, found);
      await deleteUser(tx, id);
      const who = { kind: 'service', service: 'directory', onBehalfOf: row.member_id } as const;
      const detail = { member: toPublicId('member', row.member_id), token: toPublicId('scimToken', tokenId) };
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'directory_user.deleted', target: id, detail }));
      const stopped = await this.commands.execute(new SetDirectoryStopCommand(tx, row.member_id, providerId, true));
      if (stopped.ok) return stopped;
      return stopped.failure._tag === 'LastOwner' ? fail({ _tag: 'ScimLastOwner' }) : ok([]);
    });
    if (!deleted.ok) return deleted;
    this.wake.publish(deleted.value);
    return ok(null);
  }
}
