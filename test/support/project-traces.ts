import type { Pool } from 'pg';
import { eventually } from './eventually.js';

type Column = { readonly table: string; readonly column: string; readonly array: boolean };

/** Every column that could name something by its id, whatever refers to what. */
async function uuidColumns(outside: Pool): Promise<Column[]> {
  const { rows } = await outside.query<Column>(
    `select c.relname as table, a.attname as column, a.atttypid = 'uuid[]'::regtype as array from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped and a.atttypid = any ('{uuid,uuid[]}'::regtype[]) order by 1, 2`,
  );
  return rows;
}

/** Remembers the ids of everything that a project has, to look for them when it is gone: the project's, its rows', its keys' mirrors'. Answers how many. */
export async function rememberProject(outside: Pool, projectId: string): Promise<number> {
  await outside.query(`create schema if not exists remembered`);
  await outside.query(`create table if not exists remembered.thing (id uuid primary key)`);
  await outside.query(`truncate remembered.thing`);
  await outside.query(`insert into remembered.thing select $1::uuid union select id from member where key_project_id = $1`, [projectId]);
  const columns = await uuidColumns(outside);
  const owned = columns.filter(({ table, column }) => column === 'id' && columns.some((other) => other.table === table && other.column === 'project_id'));
  for (const { table } of owned) await outside.query(`insert into remembered.thing select id from "${table}" where project_id = $1 on conflict do nothing`, [projectId]);
  await outside.query(`analyze remembered.thing`);
  return Number((await outside.query<{ n: string }>(`select count(*) as n from remembered.thing`)).rows[0]?.n);
}

/** Rows that still name anything of it, by `table.column`. Asks the catalogue for columns, and nobody for what they mean. */
export async function tracesOfProject(outside: Pool): Promise<Readonly<Record<string, number>>> {
  // What was told a moment ago has its place a moment later.
  await eventually(async () => (await outside.query('select 1 from audit_inbox')).rowCount === 0, undefined, 30_000);
  const found: Record<string, number> = {};
  for (const { table, column, array } of await uuidColumns(outside)) {
    const named = array ? `exists (select from unnest(t."${column}") e(id) join remembered.thing r on r.id = e.id)` : `t."${column}" in (select r.id from remembered.thing r)`;
    const { rows } = await outside.query<{ n: string }>(`select count(*) as n from "${table}" t where ${named}`);
    const count = Number(rows[0]?.n);
    if (count > 0) found[`${table}.${column}`] = count;
  }
  return found;
}
