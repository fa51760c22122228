import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Heads of new work, each with its first event, in the transaction's tenant; a member's work is told in the feed of its project. Answers how many are
 * new: one whose id is there already was admitted by an earlier send of the same bytes.
 */
const admit = `
create function admit_executions(p_items jsonb) returns int language plpgsql set plan_cache_mode = force_generic_plan as $$
declare admitted int; counted uuid[]; children boolean := jsonb_path_exists(p_items, '$[*].parent'); items jsonb := case when children then adopt_children(p_items) else p_items end;
begin
  if jsonb_path_exists(items, '$[*] ? (exists(@.service) || @.workflow like_regex "/" || @.organization == "00000000-0000-0000-0000-000000000000")') then perform assert_owners(items); end if;
  with head as (
    insert into execution (id, organization_id, project_id, workflow, workflow_version, cursor, subject_id, identity_id, member_id, service, trace, parent_id, attached, deadline, budget_ms, runnable_at, wait_until, sequence)
    select i.id, i.organization, i.project, i.workflow, i.version, i.cursor, i.subject, i.identity, i.member, i.service, i.trace, i.parent, coalesce(i.attached, false),
      d.deadline, i.budget, case when i.ready then coalesce(d.due, '-infinity') else d.deadline end, d.due, 1
    from jsonb_to_recordset(items) i(id uuid, organization uuid, project uuid, workflow text, version int, cursor jsonb, subject uuid, identity uuid, member uuid, trace text, parent uuid,
      attached boolean, ready boolean, deadline timestamptz, within double precision, budget bigint, service text, delay double precision)
    cross join lateral (select coalesce(i.deadline, clock_timestamp() + make_interval(secs => i.within / 1000)) as deadline, clock_timestamp() + make_interval(secs => i.delay / 1000) as due) d
    on conflict (id) do nothing returning id, organization_id, project_id, member_id, workflow, parent_id, attached),
  told as (
    insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, data)
    select organization_id, project_id, member_id, 'execution.started', id, 1, jsonb_build_object('workflow', workflow) from head where member_id is not null),
  logged as (insert into execution_event (execution_id, sequence, organization_id, project_id, type, state) select id, 1, organization_id, project_id, 'State', 'queued' from head)
  select count(*), array_agg(head.parent_id) filter (where head.attached) into admitted, counted from head;
  if counted is not null then perform count_children(counted); end if;
  if children and admitted < jsonb_array_length(items) then perform assert_own_children(items); end if;
  return admitted;
end $$`;

/** Admits work of any number of tenants in a transaction of its own, each tenant's under its own policies. */
const admitBatch = `
create function admit_batch(p_items jsonb) returns void language plpgsql set plan_cache_mode = force_generic_plan set app.organization = '' set app.project = '' as $$
declare t record;
begin
  if not jsonb_path_exists(p_items, '$[*] ? (@.organization != $o || @.project != $p)', jsonb_build_object('o', p_items->0->'organization', 'p', p_items->0->'project')) then
    -- One tenant's, as most batches are.
    perform set_config('app.organization', p_items->0->>'organization', true), set_config('app.project', p_items->0->>'project', true);
    perform admit_executions(p_items);
    return;
  end if;
  for t in select v->>'organization' as organization, v->>'project' as project, jsonb_agg(v) as items from jsonb_array_elements(p_items) v group by 1, 2 loop
    perform set_config('app.organization', t.organization, true), set_config('app.project', t.project, true);
    perform admit_executions(t.items);
  end loop;
end $$`;

const functions = ['admit_executions(jsonb)', 'admit_batch(jsonb)'];

export class EngineAdmission1764500000060 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [admit, admitBatch]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_app`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
  }
}
