import { nextSlices, planPurge, type Reference, type TenantTable } from './purge-plan.js';

const to = (table: string, column: string, other = 'id'): Reference => ({ columns: ['organization_id', column], table, to: ['organization_id', other] });
const table = (name: string, references: Reference[] = [], more: Partial<TenantTable> = {}): TenantTable => ({
  name,
  hasProject: false,
  removable: true,
  pages: 1,
  references,
  ...more,
});
const own = { hasProject: true };
const names = (tables: TenantTable[]): string[] => planPurge(tables).map(({ table: name }) => name);

test('what refers comes before what it refers to, and the project is nobody’s to empty', () => {
  const tables = [table('project'), table('bot', [to('project', 'project_id')], own), table('chat', [to('bot', 'bot_id')], own), table('item', [to('chat', 'chat_id')], own)];
  expect(names(tables)).toEqual(['item', 'chat', 'bot']);
  expect(names([...tables].reverse())).toEqual(['item', 'chat', 'bot']);
});

test('what has no path to a project is not emptied', () => {
  expect(names([table('project'), table('organization'), table('connection', [to('organization', 'id')]), table('bot', [to('connection', 'c')], own)])).toEqual(['bot']);
});

test('a path goes over any number of references, and all paths count', () => {
  const [, setting] = [table('project'), table('setting', [to('member', 'member_id'), to('member', 'other_id')])];
  const plan = planPurge([table('project'), table('member', [to('project', 'key_project_id')]), setting!]);
  expect(plan).toEqual([
    {
      table: 'setting',
      kept: false,
      pages: 1,
      where: ['member_id', 'other_id']
        .map(
          (column) =>
            `exists (select from "member" t_ where t_.organization_id = tenant_organization() and t_."organization_id" = t."organization_id" and t_."id" = t."${column}" and (exists (select from "project" t__ where t__.organization_id = tenant_organization() and t__."organization_id" = t_."organization_id" and t__."id" = t_."key_project_id" and (t__.id = tenant_project()))))`,
        )
        .join(' or '),
    },
    expect.objectContaining({ table: 'member' }),
  ]);
});

test('a reference that leads away from the project orders nothing: two tables that refer to each other have an order by their paths', () => {
  const tables = [table('project'), table('member', [to('project', 'key_project_id'), to('credential', 'key_id')]), table('credential', [to('member', 'member_id')])];
  expect(names(tables)).toEqual(['credential', 'member']);
});

test('tables without any order are refused and named', () => {
  expect(() => planPurge([table('project'), table('egg', [to('hen', 'h')], own), table('hen', [to('egg', 'e')], own)])).toThrow('egg, hen');
  expect(() => planPurge([table('project'), table('tree', [to('tree', 'parent_id')], own)])).toThrow('tree');
});

test('what a login may not remove is left to the database’s own function', () => {
  expect(planPurge([table('project'), table('log', [], { ...own, removable: false })])).toEqual([{ table: 'log', where: 't.project_id = tenant_project()', kept: true, pages: 1 }]);
});

test.each([
  ['small tables go together', [1, 0, 2], 10, [['a 0-1', 'b 0-1', 'c 0-2']]],
  ['a large one goes in parts, and the next begin where there is room', [25, 1], 10, [['a 0-10'], ['a 10-20'], ['a 20-25', 'b 0-1']]],
  ['one that ends with the room is done', [10, 1], 10, [['a 0-10'], ['b 0-1']]],
])('a walk over all tables: %s', (_, pages, limit, batches) => {
  const plan = pages.map((count, index) => ({ table: 'abc'[index]!, where: '', kept: false, pages: count }));
  const walked: string[][] = [];
  for (let left = { tables: plan.map(({ table: name }) => name), fromPage: 0 } as Parameters<typeof nextSlices>[1]; left.tables.length > 0;) {
    const next = nextSlices(plan, left, limit);
    walked.push(next.slices.map(({ emptied, from, to: end }) => `${emptied.table} ${from}-${end}`));
    left = next.left;
  }
  expect(walked).toEqual(batches);
});

test('a table that went with a migration is passed by', () => {
  expect(nextSlices([], { tables: ['gone'], fromPage: 3 }, 10)).toEqual({ slices: [], left: { tables: [], fromPage: 0 } });
});
