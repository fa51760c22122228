import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { hasOpenWork, nothingOpen } from '@domain/chats/chat.js';
import { isReminderDue } from '@domain/chats/todos.js';
import { callsOf, type Model, type ModelFailure, type ModelRequest } from '@core/model.js';
import { isFailure, type FinishedStep } from '@core/model-step.js';
import { defaultRetries, retryDelayMs } from '@core/retry.js';
import { afterModelFailure, afterModelStep, type TurnProgress } from '@core/turn.js';
import { addUsage } from '@core/usage.js';
import type { PhaseRun } from '@engine/phase.js';
import type { OrganizationKey } from '@engine/sealing.js';
import { ResolveModelQuery } from '@contexts/models/public/resolve-model.query.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { openTurn } from '../agent.js';
import { itemsOf, record, type Conversation } from '../conversation.js';
import { askModel, categoryOfModel, requestOf } from '../model-call.js';
import { untoldSecretUse } from '../secret-use.js';
import { progressOf, type TurnCursor } from '../turn-cursor.js';
import { recordFailure } from '../turn-failure.js';

const retries = { ...defaultRetries, maxAttempts: 5 };

export class ModelStep {
  constructor(readonly run: PhaseRun<TurnCursor>) {}
}

/** What this step asks, and of whom. */
type Question = { readonly talk: Conversation; readonly key: OrganizationKey; readonly model: Model; readonly request: ModelRequest; readonly step: number };

/** Asks the model once. What came in since the last step is read first; the result is saved whole, in one commit, before anything acts on it. */
@CommandHandler(ModelStep)
export class ModelStepHandler implements ICommandHandler<ModelStep> {
  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly records: ErrorRecords,
  ) {}

  async execute({ run }: ModelStep): Promise<void> {
    const began = performance.now();
    const question = await this.prepare(run);
    if (!question) return;
    const { talk, model, request, step } = question;
    const outcome = await askModel(run, model, request, step);
    if (outcome.kind === 'stopped') return void this.giveUp(run, 'model_stopped', new Error('the model step was stopped by a decision'));
    if (outcome.kind === 'not-passed') return void this.giveUp(run, outcome.reason, new Error(`the model step was not let out: ${outcome.reason}`));
    if (outcome.kind === 'failed') return run.finish({ ...run.execution.cursor, failure: outcome.failure });

    const { result, attempt } = outcome;
    const { usage } = result;
    run.emit({ _tag: 'Usage', step, attempt, status: usage ? 'confirmed' : 'unknown', inputTokens: usage?.inputTokens ?? null, outputTokens: usage?.outputTokens ?? null });
    if (!isFailure(result)) return save(run, question, result);
    const now = run.wake.now.getTime() + (performance.now() - began);
    const delayMs = retryDelayMs(result, attempt, Math.random(), retries);
    if (delayMs === null) return this.fail(run, talk, question.key, result);
    run.finish(
      { ...run.execution.cursor, consumed: attempt, retryAt: Math.ceil(now + delayMs) },
      record(talk, question.key, { step, items: [], usage: addUsage(talk.usage, usage) }).rows,
    );
  }

  /** `null`: the turn may not go on, and that is saved. */
  private async prepare(run: PhaseRun<TurnCursor>): Promise<Question | null> {
    const { context, cursor } = run.execution;
    const key = await this.sealer.keyOf(context.organizationId);
    const { talk, agent } = await openTurn(this.db, this.queries, key, run);
    if (!agent.ok) return this.giveUp(run, agent.failure._tag, new Error(`the turn may not go on: ${agent.failure._tag}`));
    const selection = talk.model ?? agent.value.model;
    const model = await this.queries.execute(new ResolveModelQuery(context, selection));
    if (!model.ok) return this.giveUp(run, 'model_not_available', new Error(`the model of the turn is gone: ${model.failure.reason}`));

    const step = progressOf(cursor).stepsTaken + 1;
    const secret = untoldSecretUse(run, model.value);
    if (talk.unread.length > 0 || secret) {
      const steers = talk.unread;
      const { rows, events } = record(talk, key, { step, items: itemsOf(steers), inputs: steers, secret });
      run.emit(...events);
      await run.commit(cursor, rows);
    }
    return { talk, key, model: model.value, request: requestOf(model.value, agent.value, selection, talk), step };
  }

  private giveUp(run: PhaseRun<TurnCursor>, category: string, cause: unknown): null {
    run.finish({ ...run.execution.cursor, failure: recordFailure(this.records, run, category, cause) });
    return null;
  }

  private fail(run: PhaseRun<TurnCursor>, talk: Conversation, key: OrganizationKey, failure: ModelFailure): void {
    const { cursor } = run.execution;
    const { kind, status, requestId } = failure;
    const cause = failure.cause ?? new Error(`the provider failed: ${kind}, status ${status}, request ${requestId}`);
    const safe = recordFailure(this.records, run, categoryOfModel(failure), cause);
    const { rows } = record(talk, key, { step: talk.steps + 1, items: [], usage: addUsage(talk.usage, failure.usage) });
    run.finish({ ...cursor, progress: afterModelFailure(progressOf(cursor)), failure: safe }, rows);
  }
}

function save(run: PhaseRun<TurnCursor>, { talk, key, step }: Question, finished: FinishedStep): void {
  const { cursor } = run.execution;
  const progress: TurnProgress = afterModelStep(progressOf(cursor), callsOf(finished.items).length);
  const { rows, events } = record(talk, key, { step, items: finished.items.map((content) => ({ content })), steps: step, usage: addUsage(talk.usage, finished.usage) });
  run.emit(...events);
  const reminderDue = isReminderDue(talk.todos.items, { reminded: talk.todos.reminded, hasOpenWork: hasOpenWork(nothingOpen) });
  run.finish({ ...cursor, progress, consumed: 0, retryAt: null, reminderDue }, rows);
}
