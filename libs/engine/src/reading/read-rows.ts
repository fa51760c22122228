import type { DataSource } from 'typeorm';
import type { ReadRows } from './event-pages.js';
import type { TenantEventRow } from './read-event.js';

/** A kind of log as SQL: a function that answers page queries (`$1::jsonb`), what is taken of its rows, and a column that none of them leaves empty. */
export type LogSource = { readonly columns: string; readonly from: string; readonly key: string };

/**
 * Pages of many logs, of any tenants, in one statement: the connection is back in the pool before anything is opened. With the timeline in the same
 * statement, so that no page of another history is taken for one that goes on.
 */
export const rowsOf = <Row extends object>(db: DataSource, { columns, from, key }: LogSource): ReadRows<Row> => {
  const question = `select t.timeline, ${columns} from (select database_timeline() as timeline) t left join lateral ${from} on true`;
  return async (queries) => {
    const found = await db.query<(Row & { readonly timeline: string | null })[]>(question, [JSON.stringify(queries)]);
    return { timeline: found[0]?.timeline ?? null, rows: found.filter((row) => (row as Readonly<Record<string, unknown>>)[key] !== null) };
  };
};

const columns = 'organization_id, project_id, execution_id, sequence, claim_id, commit_number, position, type, state, body, created_at';

export const readRowsOf = (db: DataSource): ReadRows<TenantEventRow> => rowsOf(db, { columns, from: 'read_events($1::jsonb)', key: 'execution_id' });
