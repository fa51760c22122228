import { Command, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotConflict, BotNotFound, GrantInvalid } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { FindMembersQuery } from '@contexts/organizations/public/member.queries.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { replaceGrants, type BotGrants, type Grant } from '../queries/grants.js';
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
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, botId, expected, grants }: SetBotGrantsCommand): Promise<Result<BotGrants, SetBotGrantsFailure>> {
    return transact<Result<BotGrants, SetBotGrantsFailure>>(this.db, identity.context, async (tx) => {
      const locked = await lockBotForChange(tx, identity, botId, expected, 'share');
      if (!locked.ok) return locked;
      const ids = grants.map((grant) => grant.memberId);
      const known = new Set((await this.queries.execute(new FindMembersQuery(identity.context, ids, tx))).map((member) => member.id));
      const wrong = ids.find((id, index) => !known.has(id) || ids.indexOf(id) !== index);
      if (wrong !== undefined) return fail({ _tag: 'GrantInvalid', member: toPublicId('member', wrong) });
      await replaceGrants(tx, botId, grants);
      const revision = expected + 1;
      await tx.query(`update bot set revision = $2, updated_at = clock_timestamp() where organization_id = tenant_organization() and project_id = tenant_project() and id = $1`, [
        botId,
        revision,
      ]);
      return ok({ revision, grants });
    });
  }
}
