import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { newTurn } from '@core/turn.js';
import type { PhaseRun } from '@engine/phase.js';
import { read } from '@platform/database/transact.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { findAgent } from '../agent.js';
import { itemsOf, openConversation, record } from '../conversation.js';
import type { TurnCursor } from '../turn-cursor.js';
import { recordFailure } from '../turn-failure.js';

export class PrepareTurn {
  constructor(readonly run: PhaseRun<TurnCursor>) {}
}

/** Begins a turn: what waits in the inbox for it becomes part of the chat. Inputs that come from here on steer it. */
@CommandHandler(PrepareTurn)
export class PrepareTurnHandler implements ICommandHandler<PrepareTurn> {
  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly records: ErrorRecords,
  ) {}

  async execute({ run }: PrepareTurn): Promise<void> {
    const { context, cursor } = run.execution;
    const key = await this.sealer.keyOf(context.organizationId);
    const { talk, agent } = await read(this.db, context, async (tx) => {
      const opened = await openConversation(tx, key, run);
      return { talk: opened, agent: await findAgent(tx, key, this.queries, run, opened.botId) };
    });
    const inputs = talk.unread;
    const { rows, events } = record(talk, key, { step: 1, items: itemsOf(inputs), inputs });
    run.emit(...events);
    const failure = agent.ok ? null : recordFailure(this.records, run, agent.failure._tag, new Error(`the turn may not begin: ${agent.failure._tag}`));
    run.finish({ ...cursor, progress: newTurn(agent.ok ? agent.value.maxSteps : 1), failure }, rows);
  }
}
