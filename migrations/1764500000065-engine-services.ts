import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

const platform = `'00000000-0000-0000-0000-000000000000'::uuid`;
const platformTables = ['execution', 'execution_event', 'execution_call', 'execution_signal', 'execution_note', 'usage_entry', 'sealed_record', 'execution_command'];

/** What hooks noted at the named steps of work, in the commits of those steps: once for each, however often a step is replayed. */
const note = `
create table execution_note (
  execution_id uuid not null,
  hook text not null,
  at text not null,
  step int not null,
  name text not null,
  attempt int not null,
  organization_id uuid not null,
  project_id uuid not null,
  commit_number int not null,
  body bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (execution_id, hook, at, step, name, attempt),
  constraint execution_note_step_known check (at = any ('{before-call,after-call,phase-saved,ended}'))
)`;

const writeNotes = `
create function write_notes(p_items jsonb, p_ids uuid[]) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  insert into execution_note (execution_id, hook, at, step, name, attempt, organization_id, project_id, commit_number, body)
  select x.id, n.hook, n.at, n.step, n.name, n.attempt, x.organization_id, x.project_id, x.commit_number, decode(n.body, 'base64')
  from execution x join jsonb_array_elements(p_items) v on (v->>'id')::uuid = x.id cross join jsonb_to_recordset(v->'notes') n(hook text, at text, step int, name text, attempt int, body text)
  where x.id = any (p_ids) on conflict do nothing;
end $$`;

/**
 * Whose work it is, where it is not a member's. A workflow with a slash in its name is its service's: members' work may not enter it, a service's may
 * enter no other, and the platform's own context takes nothing else.
 */
const assertOwners = `
create function assert_owners(p_items jsonb) returns void language plpgsql as $$
declare wrong text;
begin
  select i.workflow into wrong from jsonb_to_recordset(p_items) i(organization uuid, workflow text, member uuid, service text)
    where (i.service is not null and i.member is not null) or i.service is distinct from case when position('/' in i.workflow) > 0 then split_part(i.workflow, '/', 1) end
      or (i.organization = ${platform} and i.service is null) limit 1;
  if found then raise exception 'workflow % is not this owner''s', wrong using errcode = 'integrity_constraint_violation'; end if;
end $$`;

export class EngineServices1764500000065 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`alter table execution add column service text`);
    await q.query(note);
    for (const sql of protectTable('execution_note', 'project')) await q.query(sql);
    for (const sql of [writeNotes, assertOwners]) await q.query(sql);
    await q.query(`revoke all on function write_notes(jsonb, uuid[]), assert_owners(jsonb) from public`);
    await q.query(`grant execute on function write_notes(jsonb, uuid[]) to openbot_worker`);
    await q.query(`grant execute on function assert_owners(jsonb) to openbot_app`);
    // Services run where the engine runs: a login that serves requests of tenants cannot enter the platform's context, whatever it sets.
    for (const table of platformTables)
      await q.query(`create policy ${table}_platform on ${table} as restrictive to openbot_app using (organization_id <> ${platform} or pg_has_role('openbot_worker', 'usage'))`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const table of platformTables) await q.query(`drop policy ${table}_platform on ${table}`);
    for (const name of ['assert_owners(jsonb)', 'write_notes(jsonb, uuid[])']) await q.query(`drop function ${name}`);
    await q.query(`drop table execution_note`);
    await q.query(`alter table execution drop column service`);
  }
}
