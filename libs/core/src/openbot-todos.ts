import { readTodoList, todoLimits, todoStatuses, type Todo } from '@domain/chats/todos.js';
import type { ToolDefinition } from './model.js';
import { completed, failed, type ToolArguments, type ToolResult } from './tool.js';

export const todosTool: ToolDefinition = {
  name: 'openbot_todos',
  description: [
    'Keeps the todo list of this chat. Use it when your work has more than one step.',
    'With `items` it replaces the whole list, so send every entry each time; an empty list clears it. Without `items` it shows the list.',
    'Mark an entry in_progress before you work on it and done as soon as it is finished. Only one entry can be in_progress.',
  ].join(' '),
  parameters: {
    type: 'object',
    properties: {
      items: {
        type: 'array',
        maxItems: todoLimits.entries,
        description: 'The whole new list, in the order of work.',
        items: {
          type: 'object',
          properties: {
            id: { type: 'string', minLength: 1, maxLength: todoLimits.idCharacters, description: 'A short name that stays the same, such as "fix".' },
            content: { type: 'string', minLength: 1, maxLength: todoLimits.contentCharacters },
            status: { type: 'string', enum: todoStatuses },
          },
          required: ['id', 'content', 'status'],
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
};

/** What a call asks of the chat's list. The host reads or saves the list and answers with `todosResult`. */
export type TodosCall = { readonly _tag: 'Read' } | { readonly _tag: 'Replace'; readonly todos: readonly Todo[] } | { readonly _tag: 'Refused'; readonly message: string };

export function readTodosCall(args: ToolArguments): TodosCall {
  if (args.items === undefined) return { _tag: 'Read' };
  const list = readTodoList(args.items);
  if (list.ok) return { _tag: 'Replace', todos: list.value };
  return { _tag: 'Refused', message: `The list was not changed: ${list.failure.field} ${list.failure.message}.` };
}

/** The result of a call that read or replaced the list: the list as it now is. */
export const todosResult = (todos: readonly Todo[]): ToolResult => completed(JSON.stringify({ items: todos }));
export const todosRefused = (message: string): ToolResult => failed(message);
