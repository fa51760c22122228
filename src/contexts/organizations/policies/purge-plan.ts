/** A foreign key, or what a column's comment declares to be one: `references <table> (<column>)`. */
export type Reference = { readonly columns: readonly string[]; readonly table: string; readonly to: readonly string[] };
/** A table of tenants, as the catalogue has it. `removable`: the login that purges may delete from it; `pages`: how large it is. */
export type TenantTable = { readonly name: string; readonly hasProject: boolean; readonly removable: boolean; readonly pages: number; readonly references: readonly Reference[] };
/** What is removed: the rows `t` of a table for which `where` holds in the transaction's project. `kept`: only the database's own function removes them. */
export type Emptied = { readonly table: string; readonly where: string; readonly kept: boolean; readonly pages: number };

const root = 'project';
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** How far from the project a table is: 0 names it itself, 1 refers to a table that does, and so on. What has no path is not in it. */
function levelsOf(tables: readonly TenantTable[]): ReadonlyMap<string, number> {
  const levels = new Map(tables.filter(({ name, hasProject }) => hasProject || name === root).map(({ name }) => [name, 0]));
  for (let level = 1; ; level += 1) {
    const found = tables.filter(({ name, references }) => !levels.has(name) && references.some(({ table }) => levels.has(table)));
    if (found.length === 0) return levels;
    for (const { name } of found) levels.set(name, level);
  }
}

/**
 * Every table with a path to a project, those that refer to others before these. A reference that leads away from the project orders nothing: it is of a
 * row that stays. Throws where no order exists.
 */
export function planPurge(tables: readonly TenantTable[]): Emptied[] {
  const levels = levelsOf(tables);
  const level = (name: string): number => levels.get(name) ?? Infinity;
  const byName = new Map(tables.map((table) => [table.name, table]));

  const whereOf = (table: TenantTable, row: string): string => {
    if (table.name === root) return `${row}.id = tenant_project()`;
    if (table.hasProject) return `${row}.project_id = tenant_project()`;
    const paths = table.references.filter((reference) => level(reference.table) < level(table.name));
    return paths
      .map(({ columns, table: name, to }) =>
        existsIn(
          byName.get(name)!,
          `${row}_`,
          columns.map((column, at) => `${row}_.${quoted(to[at]!)} = ${row}.${quoted(column)}`),
        ),
      )
      .join(' or ');
  };
  const existsIn = (table: TenantTable, row: string, joined: readonly string[]): string =>
    `exists (select from ${quoted(table.name)} ${row} where ${[`${row}.organization_id = tenant_organization()`, ...joined, `(${whereOf(table, row)})`].join(' and ')})`;

  const left = new Set(tables.filter(({ name }) => levels.has(name) && name !== root).sort((one, other) => (one.name < other.name ? -1 : 1)));
  const refersTo = (one: TenantTable, { name }: TenantTable): boolean => level(one.name) >= level(name) && one.references.some(({ table }) => table === name);
  const plan: Emptied[] = [];
  while (left.size > 0) {
    const next = [...left].find((table) => ![...left].some((other) => refersTo(other, table)));
    if (!next) throw new Error(`no order empties these tables: ${[...left].map(({ name }) => name).join(', ')}`);
    left.delete(next);
    plan.push({ table: next.name, where: whereOf(next, 't'), kept: !next.removable, pages: next.pages });
  }
  return plan;
}

/** Some pages of a table, from one on and up to before another. */
export type Slice = { readonly emptied: Emptied; readonly from: number; readonly to: number };
/** What is left of a walk: tables by name, the first from a page on. */
export type Walk = { readonly tables: readonly string[]; readonly fromPage: number };

/**
 * The next pages of a walk over all tables, up to `limit` of them, and what is left then. Pages that a table gets meanwhile hold nothing of a project in which
 * nothing begins any more.
 */
export function nextSlices(plan: readonly Emptied[], { tables, fromPage }: Walk, limit: number): { readonly slices: readonly Slice[]; readonly left: Walk } {
  const slices: Slice[] = [];
  let [room, from] = [limit, fromPage];
  for (const [index, name] of tables.entries()) {
    const emptied = plan.find(({ table }) => table === name);
    if (emptied) {
      const to = Math.min(Math.max(emptied.pages, from + 1), from + room);
      slices.push({ emptied, from, to });
      room -= to - from;
      if (to < emptied.pages) return { slices, left: { tables: tables.slice(index), fromPage: to } };
      if (room === 0) return { slices, left: { tables: tables.slice(index + 1), fromPage: 0 } };
    }
    from = 0;
  }
  return { slices, left: { tables: [], fromPage: 0 } };
}
