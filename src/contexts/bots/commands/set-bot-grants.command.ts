import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '@domain/audit/entry.js';
import type { BotConflict, BotNotFound, GrantInvalid } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { FindMembersQuery } from '@contexts/organizations/public/member.queries.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { listGrants, replaceGrants, type BotGrants, type Grant } from '../queries/grants.js';
import { lockBotForChange } from './change-bot.command.js';

export type SetBotGrantsFailure = BotNotFound | Forbidden | BotConflict | GrantInvalid;

/** Makes a bot's grants exactly these. Only who may do all with the bot may share it. */
export class SetBotGrantsCommand extends Command<Result<BotGrants, SetBotGrantsFailure>> {
  constructor(
    readonly identity: Identity,
    readonly botId: string,
    readonly expected: number,
    readonly grants: readonly Grant[],
  ) {
    super();
  }
}

@CommandHandler(SetBotGrantsCommand)
export class SetBotGrantsHandler implements ICommandHandler<SetBotGrantsCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, botId, expected, grants }: SetBotGrantsCommand): Promise<Result<BotGrants, SetBotGrantsFailure>> {
    return transact<Result<BotGrants, SetBotGrantsFailure>>(this.db, identity.context, async (tx) => {
      const asker = await this.commands.execute(new LockRightsCommand(tx, identity, 'bots.share'));
      const locked = await lockBotForChange(tx, asker, botId, expected, 'share');
      if (!locked.ok) return locked;
      const ids = grants.map((grant) => grant.memberId);
      const known = new Set((await this.queries.execute(new FindMembersQuery(identity.context, ids, tx))).map((member) => member.id));
      const wrong = ids.findIndex((id, index) => !known.has(id) || ids.indexOf(id) !== index);
      if (wrong >= 0) return fail({ _tag: 'GrantInvalid', field: `grants[${wrong}].member`, member: toPublicId('member', ids[wrong]!) });
      const before = await listGrants(tx, botId);
      await replaceGrants(tx, botId, grants);
      await this.commands.execute(new RecordAuditCommand(tx, identity, ...eventsOf(botId, before, grants)));
      const revision = expected + 1;
      await tx.query(`update bot set revision = $2, updated_at = clock_timestamp() where organization_id = tenant_organization() and project_id = tenant_project() and id = $1`, [
        botId,
        revision,
      ]);
      return ok({ revision, grants });
    });
  }
}

/** One entry for each member whose rights are not as they were. */
function eventsOf(target: string, before: readonly Grant[], after: readonly Grant[]): AuditEvent[] {
  const rightsIn = (list: readonly Grant[], id: string): readonly string[] | null => list.find(({ memberId }) => memberId === id)?.rights ?? null;
  const members = [...new Set([...before, ...after].map(({ memberId }) => memberId))];
  return members.flatMap((id): AuditEvent[] => {
    const [was, rights, member] = [rightsIn(before, id), rightsIn(after, id), toPublicId('member', id)];
    if (rights === null) return [{ action: 'bot.grant_removed', target, detail: { member, before: was } }];
    return was?.toSorted().join() === rights.toSorted().join() ? [] : [{ action: 'bot.grant_set', target, detail: { member, rights, before: was } }];
  });
}
