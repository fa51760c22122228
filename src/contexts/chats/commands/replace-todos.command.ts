import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ChatNotFound, ChatStale } from '@domain/chats/chat.js';
import type { Todo } from '@domain/chats/todos.js';
import { fail, ok, type Result } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { lockOwnChat } from '../queries/chats.js';
import { openTodoList, saveTodoList } from '../queries/todos.js';

export type ReplaceTodosFailure = ChatNotFound | ChatStale;

/** Replaces a chat's whole list at the revision that the caller read. */
export class ReplaceTodosCommand extends Command<Result<null, ReplaceTodosFailure>> {
  constructor(
    readonly identity: Identity,
    readonly chatId: string,
    readonly revision: number,
    readonly todos: readonly Todo[],
  ) {
    super();
  }
}

@CommandHandler(ReplaceTodosCommand)
export class ReplaceTodosHandler implements ICommandHandler<ReplaceTodosCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  async execute({ identity, chatId, revision, todos }: ReplaceTodosCommand): Promise<Result<null, ReplaceTodosFailure>> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    return transact<Result<null, ReplaceTodosFailure>>(this.db, identity.context, async (tx) => {
      const chat = await lockOwnChat(tx, identity, chatId);
      if (!chat) return fail({ _tag: 'ChatNotFound' });
      if (chat.revision !== revision) return fail({ _tag: 'ChatConflict', revision: chat.revision });
      await saveTodoList(tx, key, chat.id, { items: todos, reminded: openTodoList(key, chat).reminded });
      return ok(null);
    });
  }
}
