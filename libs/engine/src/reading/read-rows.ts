import type { DataSource } from 'typeorm';
import type { ReadRows } from './event-pages.js';
import type { TenantEventRow } from './read-event.js';

const columns = 'organization_id, project_id, execution_id, sequence, claim_id, commit_number, position, type, state, body, created_at';

/** Pages of many logs, of any tenants, in one statement: the connection is back in the pool before anything is opened. */
export const readRowsOf =
  (db: DataSource): ReadRows<TenantEventRow> =>
  (queries) =>
    db.query<TenantEventRow[]>(`select ${columns} from read_events($1::jsonb)`, [JSON.stringify(queries)]);
