import { firstMismatch } from './json-schema.js';
import { readTodosCall, todosResult, todosTool, type TodosCall } from './openbot-todos.js';

const fix = { id: 'fix', content: 'Fix the login bug', status: 'pending' } as const;

test.each<[rule: string, args: Record<string, unknown>, decision: TodosCall]>([
  ['without arguments the list is read', {}, { _tag: 'Read' }],
  ['items replace the whole list', { items: [fix] }, { _tag: 'Replace', todos: [fix] }],
  ['no items clear it', { items: [] }, { _tag: 'Replace', todos: [] }],
  [
    'a bad list changes nothing and says why',
    { items: [fix, fix] },
    { _tag: 'Refused', message: 'The list was not changed: items[1].id "fix" is already the id of another entry.' },
  ],
])('%s', (_rule, args, decision) => {
  expect(readTodosCall(args)).toEqual(decision);
  expect(firstMismatch(todosTool.parameters, args)).toBeNull();
});

test.each<[rule: string, args: unknown, path: string]>([
  ['a field that no entry has', { items: [{ ...fix, done: true }] }, 'items[0].done'],
  ['an unknown status', { items: [{ ...fix, status: 'open' }] }, 'items[0].status'],
  ['a missing content', { items: [{ id: 'a', status: 'done' }] }, 'items[0].content'],
  ['an argument that the tool has not', { todos: [] }, 'todos'],
])('the schema refuses %s', (_rule, args, path) => {
  expect(firstMismatch(todosTool.parameters, args)).toMatchObject({ path });
});

test('the result is the list as it now is', () => {
  expect(todosResult([fix])).toEqual({ status: 'completed', output: JSON.stringify({ items: [fix] }) });
});
