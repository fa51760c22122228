import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ScimInvalid, ScimLastOwner, ScimNotFound, ScimVersionConflict } from '@domain/provisioning/failures.js';
import type { GroupChange } from '@domain/provisioning/group.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { findGroup, updateGroup, type GroupRow } from '../queries/groups.js';
import { listIdsOf } from '../queries/memberships.js';
import { findUsers } from '../queries/users.js';
import { changeMembership } from './change-membership.js';
import { placeMembers } from './place-member.js';

export type ChangeGroupFailure = ScimInvalid | ScimNotFound | ScimVersionConflict | ScimLastOwner;

/** Changes who is in a group, and what those concerned are by it: all in one transaction, however many they are. `revision`: as of a user. */
export class ChangeGroupCommand extends Command<Result<GroupRow, ChangeGroupFailure>> {
  constructor(
    readonly directory: Directory,
    readonly id: string,
    readonly revision: number | null,
    readonly change: GroupChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeGroupCommand)
export class ChangeGroupHandler implements ICommandHandler<ChangeGroupCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory: { context, providerId, tokenId }, id, revision, change }: ChangeGroupCommand): Promise<Result<GroupRow, ChangeGroupFailure>> {
    const changed = await transact<Result<{ readonly row: GroupRow; readonly touched: readonly string[] }, ChangeGroupFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const provider = await this.queries.execute(new FindProviderQuery(providerId, tx));
      const before = provider && (await findGroup(tx, providerId, id));
      if (!before) return fail({ _tag: 'ScimNotFound' });
      if (revision !== null && revision !== before.revision) return fail({ _tag: 'ScimVersionConflict' });
      const said = { displayName: change.displayName ?? before.display_name, externalId: change.externalId === undefined ? before.external_id : change.externalId };
      const isRenamed = said.displayName !== before.display_name || said.externalId !== before.external_id;
      const members = await changeMembership(tx, providerId, id, change);
      if (!members.ok) return members;
      const { added, removed } = members.value;
      if (!isRenamed && added.length + removed.length === 0) return ok({ row: before, touched: [] });
      const row = await updateGroup(tx, id, said);
      const who = { kind: 'service', service: 'directory' } as const;
      const detail = { added: added.length, removed: removed.length, token: toPublicId('scimToken', tokenId) };
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'directory_group.changed', target: id, detail }));
      // What a group is mapped to goes by its name.
      const concerned = new Set([...added, ...removed, ...(isRenamed ? await listIdsOf(tx, id) : [])]);
      const placed = await placeMembers(tx, { commands: this.commands, queries: this.queries, context }, provider, await findUsers(tx, providerId, [...concerned]));
      return placed.ok ? ok({ row, touched: placed.value }) : fail({ _tag: 'ScimLastOwner' });
    });
    if (!changed.ok) return changed;
    this.wake.publish(changed.value.touched);
    return ok(changed.value.row);
  }
}
