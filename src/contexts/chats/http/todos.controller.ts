import { Body, Controller, Get, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { readTodoList, type Todo } from '@domain/chats/todos.js';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { invalidInput } from '@platform/http/invalid-input.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { ReplaceTodosCommand } from '../commands/replace-todos.command.js';
import { findOverview } from '../queries/chat-overviews.js';
import { findOwnChat } from '../queries/chats.js';
import { openTodoList } from '../queries/todos.js';
import { detailTurns, readOutput } from '../queries/turn-details.js';
import { ChatView } from './chats.dto.js';
import { readChatProblems, replaceTodosProblems } from './chats.problems.js';
import { toChatView } from './chats.view.js';
import { ReplaceTodosBody, TodosView } from './todos.dto.js';

@ApiTags('Chats')
@Controller('v1/chats/:chatId/todos')
export class TodosController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
  ) {}

  @Get()
  @Permit('chats.read')
  @ApiOperation({
    operationId: 'readTodos',
    summary: 'Read the todo list of a chat',
    description: 'A turn that leaves no entry open leaves an empty list; its items keep what it was.',
  })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: TodosView })
  @ApiProblems(readChatProblems)
  async readTodos(@CurrentIdentity() identity: Identity, @PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string): Promise<TodosView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const chat = await read(this.db, identity.context, (tx) => findOwnChat(tx, identity, chatId));
    const found = respond(chat ? ok(chat) : fail({ _tag: 'ChatNotFound' as const }), readChatProblems);
    return { items: [...openTodoList(key, found).items] };
  }

  @Put()
  @Permit('chats.write')
  @ApiOperation({ operationId: 'replaceTodos', summary: 'Replace the todo list of a chat' })
  @ApiParam({ name: 'chatId' })
  @ApiOkResponse({ type: ChatView })
  @ApiProblems(replaceTodosProblems)
  async replaceTodos(
    @CurrentIdentity() identity: Identity,
    @PublicId('chatId', 'chat', replaceTodosProblems, 'ChatNotFound') chatId: string,
    @Body() body: ReplaceTodosBody,
  ): Promise<ChatView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    respond(await this.commands.execute(new ReplaceTodosCommand(identity, chatId, body.revision, todosOf(body))), replaceTodosProblems);
    const view = await read(this.db, identity.context, async (tx) => {
      const overview = await findOverview(tx, identity, chatId);
      if (!overview) return fail({ _tag: 'ChatNotFound' as const });
      const [details] = await detailTurns(tx, overview.turn ? [overview.turn] : []);
      return ok(toChatView(overview, details ?? null, overview.turn ? await readOutput(tx, key, overview.turn) : []));
    });
    return respond(view, replaceTodosProblems);
  }
}

/** The list as the tool would take it; what is wrong is named by its path. An entry has no field beside the three. */
function todosOf({ items }: ReplaceTodosBody): readonly Todo[] {
  const list = readTodoList(items);
  if (!list.ok) throw invalidInput(list.failure.field, list.failure.message);
  (items as readonly object[]).forEach((entry, index) => {
    const unknown = Object.keys(entry).find((name) => !['id', 'content', 'status'].includes(name));
    if (unknown !== undefined) throw invalidInput(`items[${index}].${unknown.slice(0, 64)}`, 'is not a known field');
  });
  return list.value;
}
