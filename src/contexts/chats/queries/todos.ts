import { openTodos, type Todo } from '@domain/chats/todos.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { Tx } from '@engine/tx.js';
import type { ChatRow } from './chats.js';

/** The list, and which of its states the bot was reminded of. One sealed value, so that nothing of the list shows in the open. */
export type TodoList = { readonly items: readonly Todo[]; readonly reminded: readonly string[] };
export const noTodos: TodoList = { items: [], reminded: [] };

const bindingOf = (chatId: string) => ({ table: 'chat', record: `${chatId}:todos` });

export const openTodoList = (key: OrganizationKey, chat: Pick<ChatRow, 'id' | 'todos'>): TodoList =>
  chat.todos === null ? noTodos : (JSON.parse(key.open(bindingOf(chat.id), chat.todos).toString('utf8')) as TodoList);

/** An empty list is no value. Without entries there is no state to be reminded of either. */
export const sealTodoList = (key: OrganizationKey, chatId: string, list: TodoList): Buffer | null =>
  list.items.length === 0 ? null : key.seal(bindingOf(chatId), JSON.stringify(list));

export async function saveTodoList(tx: Tx, key: OrganizationKey, chatId: string, list: TodoList): Promise<void> {
  await tx.query(`update chat set todos = $2, todos_open = $3, todos_version = todos_version + 1, revision = revision + 1 where id = $1`, [
    chatId,
    sealTodoList(key, chatId, list),
    openTodos(list.items).length,
  ]);
}
