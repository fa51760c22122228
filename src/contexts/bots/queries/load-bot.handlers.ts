import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotForWork, BotNotFound } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import { read } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { CheckBotForWorkQuery, LoadBotForWorkQuery, LoadBotQuery, type Asker } from '../public/load-bot.queries.js';
import { findBot, findReadableBot, openInstructions, type BotRow } from './bots.js';

const forWork = (key: OrganizationKey, bot: BotRow): BotForWork => ({
  id: bot.id,
  name: bot.name,
  instructions: openInstructions(key, bot),
  model: bot.model,
  maxSteps: bot.max_steps,
});

async function findBotForWork(tx: ReadTx, asker: Asker, botId: string): Promise<Result<BotRow, BotNotFound | Forbidden>> {
  const found = await findReadableBot(tx, asker, botId);
  if (!found) return fail({ _tag: 'BotNotFound' });
  return found.access.has('delegate') ? ok(found.bot) : fail({ _tag: 'Forbidden' });
}

const inside = <R>(db: DataSource, { context, tx }: { readonly context: TenantContext; readonly tx?: ReadTx | undefined }, work: (tx: ReadTx) => Promise<R>): Promise<R> =>
  tx ? work(tx) : read(db, context, work);

@QueryHandler(LoadBotForWorkQuery)
export class LoadBotForWorkHandler implements IQueryHandler<LoadBotForWorkQuery> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  async execute(query: LoadBotForWorkQuery): Promise<Result<BotForWork, BotNotFound | Forbidden>> {
    const key = await this.sealer.keyOf(query.context.organizationId);
    const found = await inside(this.db, query, (tx) => findBotForWork(tx, query.asker, query.botId));
    return found.ok ? ok(forWork(key, found.value)) : found;
  }
}

@QueryHandler(CheckBotForWorkQuery)
export class CheckBotForWorkHandler implements IQueryHandler<CheckBotForWorkQuery> {
  constructor(private readonly db: DataSource) {}

  async execute(query: CheckBotForWorkQuery): Promise<Result<null, BotNotFound | Forbidden>> {
    const found = await inside(this.db, query, (tx) => findBotForWork(tx, query.asker, query.botId));
    return found.ok ? ok(null) : found;
  }
}

@QueryHandler(LoadBotQuery)
export class LoadBotHandler implements IQueryHandler<LoadBotQuery> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  async execute(query: LoadBotQuery): Promise<BotForWork | null> {
    const key = await this.sealer.keyOf(query.context.organizationId);
    const bot = await inside(this.db, query, (tx) => findBot(tx, query.botId));
    return bot && forWork(key, bot);
  }
}
