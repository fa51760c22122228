import { fail, ok, type Result } from '../result.js';
import { noticePrefix } from './items.js';
import { isStorable } from './storable-text.js';

export const todoStatuses = ['pending', 'in_progress', 'done'] as const;
export type TodoStatus = (typeof todoStatuses)[number];
export type Todo = { readonly id: string; readonly content: string; readonly status: TodoStatus };

export const todoLimits = { entries: 100, idCharacters: 64, contentCharacters: 2000 } as const;

/** `field` names the first thing that is wrong, as in `items[2].status`. */
export type TodoListInvalid = { readonly _tag: 'TodoListInvalid'; readonly field: string; readonly message: string };
const invalid = (field: string, message: string) => fail<TodoListInvalid>({ _tag: 'TodoListInvalid', field, message });

const isStatus = (value: unknown): value is TodoStatus => (todoStatuses as readonly unknown[]).includes(value);
const isText = (value: unknown, max: number): value is string => typeof value === 'string' && value !== '' && [...value].length <= max && isStorable(value);

function readTodo(value: unknown, field: string): Result<Todo, TodoListInvalid> {
  if (typeof value !== 'object' || value === null) return invalid(field, 'must be an object with id, content and status');
  const { id, content, status } = value as Readonly<Record<string, unknown>>;
  if (!isText(id, todoLimits.idCharacters)) return invalid(`${field}.id`, `must be text of 1 to ${todoLimits.idCharacters} characters`);
  if (!isText(content, todoLimits.contentCharacters)) return invalid(`${field}.content`, `must be text of 1 to ${todoLimits.contentCharacters} characters`);
  if (!isStatus(status)) return invalid(`${field}.status`, `must be one of ${todoStatuses.join(', ')}`);
  return ok({ id, content, status });
}

/** Reads a whole list as a person or a model wrote it: every id once, at most one entry in progress. */
export function readTodoList(value: unknown): Result<readonly Todo[], TodoListInvalid> {
  if (!Array.isArray(value)) return invalid('items', 'must be a list');
  if (value.length > todoLimits.entries) return invalid('items', `must have at most ${todoLimits.entries} entries`);
  const todos: Todo[] = [];
  for (const [index, entry] of value.entries()) {
    const field = `items[${index}]`;
    const todo = readTodo(entry, field);
    if (!todo.ok) return todo;
    if (todos.some(({ id }) => id === todo.value.id)) return invalid(`${field}.id`, `"${todo.value.id}" is already the id of another entry`);
    const second = todo.value.status === 'in_progress' && todos.find(({ status }) => status === 'in_progress');
    if (second) return invalid(`${field}.status`, `only one entry may be in_progress, and "${second.id}" already is`);
    todos.push(todo.value);
  }
  return ok(todos);
}

export const openTodos = (todos: readonly Todo[]): readonly Todo[] => todos.filter(({ status }) => status !== 'done');

/** The list that a turn leaves behind: one whose entries are all done becomes empty, so that a chat without an end carries no old list. */
export const todosAfterTurn = (todos: readonly Todo[]): readonly Todo[] => (openTodos(todos).length === 0 ? [] : todos);

function hash32(text: string, seed: number): string {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0).toString(16).padStart(8, '0');
}

/** Names one state of the list in 16 characters: entries, texts, statuses and order. Not a secret and not proof against forgery. */
export function todosDigest(todos: readonly Todo[]): string {
  const state = JSON.stringify(todos.map(({ id, content, status }) => [id, content, status]));
  return hash32(state, 0x811c9dc5) + hash32(state, 0x9747b28c);
}

/**
 * Whether an answer must be followed by a reminder. A state of the list is reminded of once: `reminded` holds the digests of the states
 * that were. A chat with open work gets none, because that work comes back as a notice of its own.
 */
export function isReminderDue(todos: readonly Todo[], chat: { readonly reminded: readonly string[]; readonly hasOpenWork: boolean }): boolean {
  if (chat.hasOpenWork || openTodos(todos).length === 0) return false;
  return !chat.reminded.includes(todosDigest(todos));
}

const shownEntries = 20;
const shownCharacters = 200;

/** One line, so that no entry can look like several, or like the end of the notice. */
function line({ id, content, status }: Todo): string {
  const characters = [...content.replace(/\s+/g, ' ').trim()];
  const text = characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join('')}…` : characters.join('');
  return `- ${id.replace(/\s+/g, ' ')} (${status}): ${text}`;
}

/** The notice of kind `todos`: what the bot reads when it ends an answer with open entries. */
export function todosReminder(todos: readonly Todo[]): string {
  const open = openTodos(todos);
  const more = open.length - shownEntries;
  return [
    `${noticePrefix} Your todo list still has open entries:`,
    ...open.slice(0, shownEntries).map(line),
    ...(more > 0 ? [`- and ${more} more; openbot_todos without arguments shows the whole list.`] : []),
    'Go on with them. If an entry is finished or no longer needed, bring the list up to date with openbot_todos. This state of the list is not reminded of again.',
  ].join('\n');
}
