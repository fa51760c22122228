import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { BotConflict, BotNotFound } from '@domain/bots/bot.js';
import type { ChatModelInvalid, ModelSelection } from '@domain/models/catalog.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { ResolveModelQuery } from '@contexts/models/public/resolve-model.query.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { findReadableBot, lockReadableBot, sealInstructions, type BotRow, type ReadableBot } from '../queries/bots.js';

/** What is undefined stays as it is. */
export type BotChange = {
  readonly expected: number;
  readonly name?: string | undefined;
  readonly instructions?: string | undefined;
  readonly model?: ModelSelection | null | undefined;
  readonly maxSteps?: number | undefined;
};
export type ChangeBotFailure = BotNotFound | Forbidden | BotConflict | ChatModelInvalid;

export class ChangeBotCommand extends Command<Result<ReadableBot, ChangeBotFailure>> {
  constructor(
    readonly identity: Identity,
    readonly botId: string,
    readonly change: BotChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeBotCommand)
export class ChangeBotHandler implements ICommandHandler<ChangeBotCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
  ) {}

  async execute({ identity, botId, change }: ChangeBotCommand): Promise<Result<ReadableBot, ChangeBotFailure>> {
    const { context } = identity;
    const key = await this.sealer.keyOf(context.organizationId);
    // Asked before the transaction, judged after the rights: the answer for a bot that is not there does not depend on the model.
    const model = change.model && (await this.queries.execute(new ResolveModelQuery(context, change.model)));
    return transact<Result<ReadableBot, ChangeBotFailure>>(this.db, context, async (tx) => {
      const locked = await lockBotForChange(tx, identity, botId, change.expected);
      if (!locked.ok) return locked;
      if (model && !model.ok) return model;
      const instructions = change.instructions === undefined ? locked.value.instructions : sealInstructions(key, botId, change.instructions);
      await storeChange(tx, locked.value, change, instructions);
      const detail = { fields: changedFields(change), revision: change.expected + 1 };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'bot.changed', target: botId, detail }));
      const changed = await findReadableBot(tx, identity, botId);
      return changed ? ok(changed) : fail({ _tag: 'BotNotFound' });
    });
  }
}

/** Locks a bot at the revision that the caller read. Readers who may not change it learn that, and not its revision. */
export async function lockBotForChange(
  tx: Tx,
  asker: Identity,
  botId: string,
  expected: number,
  action: 'change' | 'share' = 'change',
): Promise<Result<BotRow, BotNotFound | Forbidden | BotConflict>> {
  const found = await lockReadableBot(tx, asker, botId);
  if (!found) return fail({ _tag: 'BotNotFound' });
  if (!found.access.has(action)) return fail({ _tag: 'Forbidden' });
  if (found.bot.revision !== expected) return fail({ _tag: 'BotConflict', revision: found.bot.revision });
  return ok(found.bot);
}

/** Their names alone: what a bot is told is content. */
const changedFields = ({ expected, ...change }: BotChange): string[] => Object.keys(change).filter((name) => change[name as keyof typeof change] !== undefined);

/** A model that a person chose, or took away, no longer follows the environment. */
async function storeChange(tx: Tx, bot: BotRow, change: BotChange, instructions: Buffer | null): Promise<void> {
  await tx.query(
    `update bot set name = $2, instructions = $3, model = $4, max_steps = $5, model_follows_environment = $6, revision = revision + 1, updated_at = clock_timestamp()
     where organization_id = tenant_organization() and project_id = tenant_project() and id = $1`,
    [
      bot.id,
      change.name ?? bot.name,
      instructions,
      change.model === undefined ? bot.model : change.model,
      change.maxSteps ?? bot.max_steps,
      bot.model_follows_environment && change.model === undefined,
    ],
  );
}
