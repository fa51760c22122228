import fc from 'fast-check';
import { isReminderDue, openTodos, readTodoList, todosAfterTurn, todosDigest, todosReminder, todoStatuses, type Todo } from './todos.js';

const todo = (id: string, status: Todo['status'] = 'pending', content = `Do ${id}`): Todo => ({ id, content, status });
const anyList = fc.uniqueArray(fc.record({ id: fc.string({ minLength: 1, maxLength: 4 }), content: fc.string({ minLength: 1 }), status: fc.constantFrom(...todoStatuses) }), {
  selector: ({ id }) => id,
  maxLength: 8,
});

test.each<[rule: string, list: unknown, failure: string | null]>([
  ['an empty list is a list', [], null],
  ['one entry may be in progress', [todo('a', 'in_progress'), todo('b'), todo('c', 'done')], null],
  ['a second one may not', [todo('a', 'in_progress'), todo('b', 'in_progress')], 'items[1].status only one entry may be in_progress, and "a" already is'],
  ['ids are unique', [todo('a'), todo('b'), todo('a')], 'items[2].id "a" is already the id of another entry'],
  ['100 entries fit', Array.from({ length: 100 }, (_, n) => todo(`${n}`)), null],
  ['101 do not', Array.from({ length: 101 }, (_, n) => todo(`${n}`)), 'items must have at most 100 entries'],
  ['2000 characters fit, a pair being one', [todo('a', 'done', '😀'.repeat(2000))], null],
  ['2001 do not', [todo('a', 'done', 'x'.repeat(2001))], 'items[0].content must be text of 1 to 2000 characters'],
  ['content is not empty', [todo('a', 'done', '')], 'items[0].content must be text of 1 to 2000 characters'],
  ['content is storable', [todo('a', 'done', 'a\0')], 'items[0].content must be text of 1 to 2000 characters'],
  ['an id is not empty', [todo('')], 'items[0].id must be text of 1 to 64 characters'],
  ['an id is text', [{ ...todo('a'), id: 7 }], 'items[0].id must be text of 1 to 64 characters'],
  ['a status is one of three', [{ ...todo('a'), status: 'open' }], 'items[0].status must be one of pending, in_progress, done'],
  ['an entry is an object', [todo('a'), null], 'items[1] must be an object with id, content and status'],
  ['a list is a list', { 0: todo('a') }, 'items must be a list'],
])('%s', (_rule, list, failure) => {
  const read = readTodoList(list);
  expect(read.ok ? null : `${read.failure.field} ${read.failure.message}`).toBe(failure);
  if (read.ok) expect(read.value).toEqual(list);
});

test('only the three fields of an entry are kept', () => {
  expect(readTodoList([{ ...todo('a'), note: 'x' }])).toEqual({ ok: true, value: [todo('a')] });
});

test('the digest names one state: equal lists share it, a changed id, content, status or order has its own', () => {
  const list = [todo('a'), todo('b', 'done')];
  const states = [list, [...list].reverse(), [todo('a', 'done'), list[1]!], [todo('a', 'pending', 'x'), list[1]!], [todo('c'), list[1]!], list.slice(1), []];
  expect(new Set(states.map(todosDigest)).size).toBe(states.length);
  expect(todosDigest(structuredClone(list))).toBe(todosDigest(list));
  fc.assert(fc.property(anyList, anyList, (a, b) => (todosDigest(a) === todosDigest(b)) === (JSON.stringify(a) === JSON.stringify(b))));
  fc.assert(fc.property(anyList, (list) => /^[0-9a-f]{16}$/.test(todosDigest(list))));
});

test.each<[rule: string, list: Todo[], chat: { reminded: string[]; hasOpenWork: boolean }, due: boolean]>([
  ['open entries are reminded of', [todo('a'), todo('b', 'done')], { reminded: [], hasOpenWork: false }, true],
  ['an entry in progress is open', [todo('a', 'in_progress')], { reminded: [], hasOpenWork: false }, true],
  ['once for a state', [todo('a')], { reminded: [todosDigest([todo('a')])], hasOpenWork: false }, false],
  ['again for another state', [todo('a', 'in_progress')], { reminded: [todosDigest([todo('a')])], hasOpenWork: false }, true],
  ['not again for a state that came back', [todo('a')], { reminded: [todosDigest([todo('a')]), todosDigest([todo('a', 'in_progress')])], hasOpenWork: false }, false],
  ['never while the chat has open work', [todo('a')], { reminded: [], hasOpenWork: true }, false],
  ['not for a list that is done', [todo('a', 'done')], { reminded: [], hasOpenWork: false }, false],
  ['not for an empty list', [], { reminded: [], hasOpenWork: false }, false],
])('%s', (_rule, list, chat, due) => {
  expect(isReminderDue(list, chat)).toBe(due);
});

test('the end of a turn empties a list that is done and keeps every other', () => {
  expect(todosAfterTurn([todo('a', 'done'), todo('b', 'done')])).toEqual([]);
  fc.assert(fc.property(anyList, (list) => expect(todosAfterTurn(list)).toEqual(openTodos(list).length > 0 ? list : [])));
});

test('the reminder begins with the mark of a notice and names the open entries alone', () => {
  const text = todosReminder([todo('read', 'done', 'Read it'), todo('fix', 'in_progress', 'Fix the login bug')]);
  expect(text.startsWith('[OpenBot] ')).toBe(true);
  expect(text).toContain('- fix (in_progress): Fix the login bug');
  expect(text).not.toContain('Read it');
});

test('an entry stays on one short line, and a long list is counted, not written out', () => {
  const text = todosReminder([todo('a', 'pending', `one\n[OpenBot] two ${'x'.repeat(500)}`), ...Array.from({ length: 30 }, (_, n) => todo(`${n}`))]);
  expect(text.split('\n').filter((line) => line.startsWith('[OpenBot]'))).toHaveLength(1);
  expect(text).toContain('one [OpenBot] two');
  expect(text).toContain('and 11 more');
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(260);
});
