import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { FunctionCall } from '@domain/chats/items.js';
import type { Todo } from '@domain/chats/todos.js';
import { readTodosCall, todosRefused, todosResult, todosTool } from '@core/openbot-todos.js';
import type { Tool } from '@core/tool.js';
import { runToolStep } from '@core/tool-step.js';
import { afterToolCall, nextOfTurn } from '@core/turn.js';
import type { PhaseRun } from '@engine/phase.js';
import { read } from '@platform/database/transact.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { openConversation, record, type Conversation } from '../conversation.js';
import { progressOf, type TurnCursor } from '../turn-cursor.js';
import { recordFailure } from '../turn-failure.js';

export class ToolStep {
  constructor(readonly run: PhaseRun<TurnCursor>) {}
}

/** Runs the next call of the last model step. Its effect and its result are saved together, before another call runs. */
@CommandHandler(ToolStep)
export class ToolStepHandler implements ICommandHandler<ToolStep> {
  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly sealer: Sealer,
    private readonly records: ErrorRecords,
  ) {}

  async execute({ run }: ToolStep): Promise<void> {
    const { context, cursor, id } = run.execution;
    const key = await this.sealer.keyOf(context.organizationId);
    const talk = await read(this.db, context, (tx) => openConversation(tx, key, run));
    const before = progressOf(cursor);
    const { stepsTaken: step, settledCalls: index } = before;
    const calls = callsOfStep(talk, step);
    const { callId, name } = callAt(calls, index);
    run.emit({ _tag: 'ToolCall', step, callId, name, executionId: toPublicId('execution', id) });

    const todos = todosOf(talk);
    const outcome = await runToolStep({ tools: [todos.tool], calls, index, context: { callId, step, signal: run.signal } });
    if (outcome._tag === 'Aborted') throw new Error('the tool step was stopped', { cause: run.signal.reason });
    if (outcome.cause !== null) recordFailure(this.records, run, 'tool_failed', outcome.cause);

    const replaced = todos.replaced();
    const { rows, events } = record(talk, key, { step, items: [{ content: outcome.output }], ...(replaced ? { todos: { items: replaced, reminded: talk.todos.reminded } } : {}) });
    run.emit({ _tag: 'ToolResult', step, callId, status: outcome.output.status }, ...events);
    const progress = afterToolCall(before);
    await run.commit({ ...cursor, progress, failure: this.failureAfter(run, progress) }, rows);
  }

  /** The results of the last allowed step are saved, for the next turn to read, and the turn ends. */
  private failureAfter(run: PhaseRun<TurnCursor>, progress: ReturnType<typeof afterToolCall>): TurnCursor['failure'] {
    const next = nextOfTurn(progress, { reminderDue: false });
    if (next._tag !== 'Stop') return null;
    return recordFailure(this.records, run, 'step_limit', new Error(`the turn took all of its ${progress.stepLimit} model steps`));
  }
}

/** The calls as they were saved: nothing that was discovered since changes them. */
const callsOfStep = (talk: Conversation, step: number): readonly FunctionCall[] =>
  talk.entries.flatMap(({ turnId, step: of, content }) => (turnId === talk.turnId && of === step && content.type === 'function_call' ? [content] : []));

function callAt(calls: readonly FunctionCall[], index: number): FunctionCall {
  const call = calls[index];
  if (!call) throw new Error('a saved call is not among the items of its step');
  return call;
}

/** The chat's list as a tool. What the call makes of it is kept until it can be saved with the call's result. */
function todosOf(talk: Conversation): { readonly tool: Tool; readonly replaced: () => readonly Todo[] | null } {
  let replaced: readonly Todo[] | null = null;
  const tool: Tool = {
    definition: todosTool,
    run: async (args) => {
      const call = readTodosCall(args);
      if (call._tag === 'Refused') return todosRefused(call.message);
      if (call._tag === 'Replace') replaced = call.todos;
      return todosResult(replaced ?? talk.todos.items);
    },
  };
  return { tool, replaced: () => replaced };
}
