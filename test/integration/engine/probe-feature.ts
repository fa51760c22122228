import type { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { protectTable } from '@migrations/protect-table.js';
import type { Tenant } from '@test/support/engine.js';

/**
 * The smallest feature: an aggregate that counts, and a row without a key for each write, so that one written twice is there twice. A row whose number
 * is negative is bad data.
 */
const statements = [
  `create table probe (id uuid primary key, organization_id uuid not null, project_id uuid not null, total int not null default 0)`,
  `create table probe_row (execution_id uuid not null, organization_id uuid not null, project_id uuid not null, number int not null, constraint probe_row_counts check (number >= 0))`,
  ...protectTable('probe', 'project'),
  ...protectTable('probe_row', 'project'),
  `create function feature_lock_probe(p_ids uuid[], p_skip boolean) returns uuid[] language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
   begin
     if p_skip then
       return array(select x.id from probe x where x.id = any (p_ids) order by x.id for no key update skip locked);
     end if;
     return array(select x.id from probe x where x.id = any (p_ids) order by x.id for no key update);
   end $$`,
  `create function feature_rows_probe(h execution, p_aggregate uuid, p_rows jsonb) returns void language plpgsql as $$
   begin
     insert into probe_row (execution_id, organization_id, project_id, number) values (h.id, h.organization_id, h.project_id, (p_rows->>'number')::int);
     update probe x set total = x.total + 1 where x.id = p_aggregate;
   end $$`,
];

export async function createProbeFeature(superuser: Pool): Promise<void> {
  for (const statement of statements) await superuser.query(statement);
}

export async function newProbe(superuser: Pool, tenant: Tenant): Promise<string> {
  const id = uuidv7();
  await superuser.query('insert into probe (id, organization_id, project_id) values ($1, $2, $3)', [id, tenant.organizationId, tenant.projectId]);
  return id;
}
