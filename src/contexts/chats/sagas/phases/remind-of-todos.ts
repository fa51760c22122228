import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { hasOpenWork, nothingOpen } from '@domain/chats/chat.js';
import { isReminderDue, todosDigest, todosReminder } from '@domain/chats/todos.js';
import { afterReminder } from '@core/turn.js';
import type { PhaseRun } from '@engine/phase.js';
import { read } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { openConversation, record } from '../conversation.js';
import { progressOf, type TurnCursor } from '../turn-cursor.js';

export class RemindOfTodos {
  constructor(readonly run: PhaseRun<TurnCursor>) {}
}

/** Gives the bot that wants to end its turn one more step, with a notice of what is still open. Each state of the list is reminded of once. */
@CommandHandler(RemindOfTodos)
export class RemindOfTodosHandler implements ICommandHandler<RemindOfTodos> {
  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  async execute({ run }: RemindOfTodos): Promise<void> {
    const { context, cursor } = run.execution;
    const key = await this.sealer.keyOf(context.organizationId);
    const talk = await read(this.db, context, (tx) => openConversation(tx, key, run));
    const { items, reminded } = talk.todos;
    // A person may have changed the list since the answer.
    if (!isReminderDue(items, { reminded, hasOpenWork: hasOpenWork(nothingOpen) })) return run.commit({ ...cursor, reminderDue: false });

    const progress = afterReminder(progressOf(cursor));
    const notice = { kind: 'todos', ref: null } as const;
    const text = todosReminder(items);
    const { rows, events } = record(talk, key, {
      step: progress.stepsTaken + 1,
      items: [{ content: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }, notice }],
      todos: { items, reminded: [...reminded, todosDigest(items)].slice(-rememberedStates) },
    });
    run.emit(...events);
    await run.commit({ ...cursor, progress, reminderDue: false }, rows);
  }
}

/** Enough for any honest turn, and an end to what a chat without an end would carry along. */
const rememberedStates = 200;
