import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotConflict, BotNotFound } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { ok, type Result } from '@domain/result.js';
import { tellFeed } from '@engine/product-events.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { lockBotForChange } from './change-bot.command.js';

export type DeleteBotFailure = BotNotFound | Forbidden | BotConflict;

/** Takes a bot away for good: from now on it is missing for everyone, and its instructions and grants are gone. */
export class DeleteBotCommand extends Command<Result<null, DeleteBotFailure>> {
  constructor(
    readonly identity: Identity,
    readonly botId: string,
    readonly expected: number,
  ) {
    super();
  }
}

@CommandHandler(DeleteBotCommand)
export class DeleteBotHandler implements ICommandHandler<DeleteBotCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, botId, expected }: DeleteBotCommand): Promise<Result<null, DeleteBotFailure>> {
    return transact<Result<null, DeleteBotFailure>>(this.db, identity.context, async (tx) => {
      const locked = await lockBotForChange(tx, identity, botId, expected);
      if (!locked.ok) return locked;
      await tx.query(
        `update bot set deleted_at = clock_timestamp(), updated_at = clock_timestamp(), instructions = null, revision = revision + 1
         where organization_id = tenant_organization() and project_id = tenant_project() and id = $1`,
        [botId],
      );
      await tx.query(`delete from bot_grant where organization_id = tenant_organization() and project_id = tenant_project() and bot_id = $1`, [botId]);
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'bot.deleted', target: botId, detail: {} }));
      await tellFeed(tx, { type: 'bot.deleted', memberId: identity.memberId, aggregateId: botId, aggregateSequence: expected + 1 });
      return ok(null);
    });
  }
}
