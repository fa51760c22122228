import { Command, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotNotFound } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { SettingsConflict } from '@domain/sign-in/token.js';
import { CheckBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { lockSettings, showSettings, storeDefaultBot, type Settings } from '../queries/settings.js';

/** `defaultBot: undefined` leaves it as it is, `null` takes it away. */
export type SettingsChange = { readonly expectedVersion: number; readonly defaultBot: string | null | undefined };
export type ChangeSettingsFailure = BotNotFound | Forbidden | SettingsConflict;

export class ChangeSettingsCommand extends Command<Result<Settings, ChangeSettingsFailure>> {
  constructor(
    readonly identity: Identity,
    readonly change: SettingsChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeSettingsCommand)
export class ChangeSettingsHandler implements ICommandHandler<ChangeSettingsCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, change: { expectedVersion, defaultBot } }: ChangeSettingsCommand): Promise<Result<Settings, ChangeSettingsFailure>> {
    return transact(this.db, identity.context, async (tx) => {
      // Before the version, so that a bot that is not there has one answer, whatever the version.
      if (typeof defaultBot === 'string') {
        const usable = await this.queries.execute(new CheckBotForWorkQuery(identity.context, identity, defaultBot, tx));
        if (!usable.ok) return usable;
      }
      const settings = await lockSettings(tx, identity.memberId);
      if (settings.version !== expectedVersion) return fail({ _tag: 'SettingsConflict', version: settings.version });
      if (defaultBot === undefined) return ok(await showSettings(tx, this.queries, identity, settings));
      return ok({ version: await storeDefaultBot(tx, identity.memberId, settings, defaultBot), defaultBot });
    });
  }
}
