import type { ReadTx } from '@engine/tx.js';
import { planPurge, type Emptied, type TenantTable } from '../policies/purge-plan.js';

/**
 * Read anew for every step, and never kept by hand: a table that a migration adds while a purge goes on is emptied like all others. A reference of a
 * table to itself that the database ends with the row that it leads to is none here: it asks for no order.
 */
const tenantTables = `
  select c.relname as name, has_table_privilege(c.oid, 'delete') as removable, (pg_relation_size(c.oid) / current_setting('block_size')::int)::float8 as pages,
    exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'project_id' and not a.attisdropped) as "hasProject",
    coalesce((
      select jsonb_agg(jsonb_build_object('columns', k.columns, 'table', k.target, 'to', k.referred)) from (
        select f.confrelid::regclass::text as target,
          array(select a.attname::text from unnest(f.conkey) with ordinality n(num, ord) join pg_attribute a on a.attrelid = f.conrelid and a.attnum = n.num order by n.ord) as columns,
          array(select a.attname::text from unnest(f.confkey) with ordinality n(num, ord) join pg_attribute a on a.attrelid = f.confrelid and a.attnum = n.num order by n.ord) as referred
        from pg_constraint f where f.contype = 'f' and f.conrelid = c.oid and not (f.confrelid = c.oid and f.confdeltype = any ('{c,n}'))
        union all
        select m[1], array[a.attname::text], array[m[2]]
        from pg_attribute a cross join regexp_match(col_description(c.oid, a.attnum), '^references (\\w+) \\((\\w+)\\)$') m where a.attrelid = c.oid and a.attnum > 0 and m is not null) k), '[]') as references
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = any ('{r,p}') and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped)
  order by c.relname`;

/** Every table with a path to a project, in the order in which they can be emptied. */
export const readPurgePlan = async (tx: Pick<ReadTx, 'query'>): Promise<Emptied[]> => planPurge(await tx.query<TenantTable[]>(tenantTables));
