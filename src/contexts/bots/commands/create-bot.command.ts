import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { defaultMaxSteps } from '@domain/bots/bot.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { ChatModelInvalid, ModelSelection } from '@domain/models/catalog.js';
import { ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand, type KeyedCommand } from '@engine/admit.js';
import { tellFeed } from '@engine/product-events.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { ResolveModelQuery } from '@contexts/models/public/resolve-model.query.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { sealInstructions } from '../queries/bots.js';

export type NewBot = { readonly name: string; readonly instructions: string; readonly model: ModelSelection | null; readonly maxSteps: number | null };
export type BotReceipt = { readonly botId: string; readonly revision: number };
export type CreateBotFailure = ChatModelInvalid | ExecutionKeyConflict;

/** Makes a bot that belongs to the member. `command: null`: the request carried no key, so that sending it again makes another bot. */
export class CreateBotCommand extends Command<Result<BotReceipt, CreateBotFailure>> {
  constructor(
    readonly identity: Identity,
    readonly command: KeyedCommand | null,
    readonly wanted: NewBot,
  ) {
    super();
  }
}

@CommandHandler(CreateBotCommand)
export class CreateBotHandler implements ICommandHandler<CreateBotCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
  ) {}

  async execute({ identity, command, wanted }: CreateBotCommand): Promise<Result<BotReceipt, CreateBotFailure>> {
    const { context, memberId } = identity;
    const key = await this.sealer.keyOf(context.organizationId);
    // Asked before the transaction and judged in it: a retry gets its receipt also when the model is gone by now.
    const model = wanted.model && (await this.queries.execute(new ResolveModelQuery(context, wanted.model)));
    return transact<Result<BotReceipt, CreateBotFailure>>(this.db, context, async (tx) => {
      const taken = command && (await takeCommand<BotReceipt>(tx, command));
      if (taken && !taken.ok) return taken;
      if (taken?.value) return ok(taken.value);
      if (model && !model.ok) return model;

      const id = uuidv7();
      const instructions = sealInstructions(key, id, wanted.instructions);
      await insertBot(tx, context, {
        id,
        ownerId: memberId,
        name: wanted.name,
        instructions,
        model: wanted.model,
        modelFollowsEnvironment: false,
        maxSteps: wanted.maxSteps ?? defaultMaxSteps,
      });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'bot.created', target: id, detail: {} }));
      const receipt = { botId: id, revision: 1 };
      return ok(command ? await settleCommand(tx, command, receipt) : receipt);
    });
  }
}

export type BotValues = {
  readonly id: string;
  readonly ownerId: string;
  readonly name: string;
  readonly instructions: Buffer | null;
  readonly model: ModelSelection | null;
  readonly modelFollowsEnvironment: boolean;
  readonly maxSteps: number;
};

export async function insertBot(tx: Tx, context: Identity['context'], bot: BotValues): Promise<void> {
  await tx.query(
    `insert into bot (organization_id, project_id, id, owner_id, name, instructions, model, model_follows_environment, max_steps)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [context.organizationId, context.projectId, bot.id, bot.ownerId, bot.name, bot.instructions, bot.model, bot.modelFollowsEnvironment, bot.maxSteps],
  );
  await tellFeed(tx, { type: 'bot.created', memberId: bot.ownerId, aggregateId: bot.id, aggregateSequence: 1 });
}
