import type { Client } from 'pg';
import type { TenantContext } from '@domain/tenancy.js';
import { hasProject, tenantColumn, type Table } from './tenant-tables.js';

type Column = { readonly name: string; readonly type: string; readonly base: string; readonly category: string };

const text = `md5(random()::text)`;

/** A value of the column's type that no other row has, where the type has that many. */
function valueOf({ name, type, base, category }: Column): string {
  if (base === 'uuid') return 'gen_random_uuid()';
  if (base === 'bytea') return `decode(${text}, 'hex')`;
  if (base === 'json' || base === 'jsonb') return `'{}'::${type}`;
  switch (category) {
    case 'S':
      return `${text}::${type}`;
    case 'N':
      return `(1 + random() * 30000)::int::${type}`;
    case 'B':
      return 'false';
    case 'D':
      return `clock_timestamp()::${type}`;
    case 'T':
      return `interval '1 second'`;
    case 'A':
      return `'{}'::${type}`;
    case 'E':
      return `(enum_range(null::${type}))[1]`;
    case 'R':
      return `'empty'::${type}`;
    case 'I':
      return `'127.0.0.1'::${type}`;
    default:
      throw new Error(`no value is known for column ${name} of type ${type}: add one here`);
  }
}

/** The columns that a row cannot do without. */
async function requiredColumns(superuser: Client, table: string): Promise<Column[]> {
  const { rows } = await superuser.query<Column>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, coalesce(b.typname, t.typname) as base, t.typcategory as category
       from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = nullif(t.typbasetype, 0)
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attnotnull and not a.atthasdef and a.attidentity = ''
      order by a.attnum`,
    [table],
  );
  return rows;
}

/** An INSERT of one row of the tenant, made from the catalog alone, so that it fits every table there is and will be. */
export async function tenantRow(superuser: Client, table: Table, tenant: Required<TenantContext>): Promise<string> {
  const values = new Map((await requiredColumns(superuser, table.name)).map((column) => [column.name, valueOf(column)]));
  const organization = tenantColumn(table);
  if (!organization) throw new Error(`${table.name} belongs to no tenant`);
  values.set(organization, `'${tenant.organizationId}'`);
  if (hasProject(table)) values.set('project_id', `'${tenant.projectId ?? ''}'`);
  return `insert into ${table.name} (${[...values.keys()].join(', ')}) values (${[...values.values()].join(', ')})`;
}

/**
 * Lets rows stand alone in this copy of the database: CHECKs go, and references are not followed in the superuser's session.
 * Row-level security is neither: what it hides stays hidden.
 */
export async function freeFromReferences(superuser: Client): Promise<void> {
  const { rows } = await superuser.query<{ sql: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as sql from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace and conrelid <> 0`,
  );
  for (const { sql } of rows) await superuser.query(sql);
  await superuser.query(`set session_replication_role = replica`);
}
