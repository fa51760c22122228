import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { newTurn } from '@core/turn.js';
import type { PhaseRun } from '@engine/phase.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { keepOpened, openTurn } from '../agent.js';
import { itemsOf, record } from '../conversation.js';
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
    const opened = await openTurn(this.db, this.queries, key, run);
    const { talk, agent } = opened;
    const inputs = talk.unread;
    const { rows, events } = record(talk, key, { step: 1, items: itemsOf(inputs), inputs });
    run.emit(...events);
    const failure = agent.ok ? null : recordFailure(this.records, run, agent.failure._tag, new Error(`the turn may not begin: ${agent.failure._tag}`));
    keepOpened(run, opened);
    run.finish({ ...cursor, progress: newTurn(agent.ok ? agent.value.maxSteps : 1), failure }, rows);
  }
}
