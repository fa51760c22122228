import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Heads are named by their keys, whatever the planner thinks of tables that were empty when it planned. */
const byKeys = 'set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off';

/** A child is of its parent's tenant and its parent's member, whatever its admission says. */
const adoptChildren = `
create function adopt_children(p_items jsonb) returns jsonb language plpgsql ${byKeys} as $$
declare parents uuid[] := array(select distinct (v->>'parent')::uuid from jsonb_array_elements(p_items) v where v ? 'parent'); adopted jsonb;
begin
  if cardinality(parents) > (select count(*) from execution x where x.id = any (parents)) then
    raise exception 'the parent of new work is not here' using errcode = 'foreign_key_violation';
  end if;
  select jsonb_agg(case when p.id is null then i.v else i.v || jsonb_build_object('organization', p.organization_id, 'project', p.project_id, 'member', p.member_id) end) into adopted
    from jsonb_array_elements(p_items) i(v) left join (select * from execution x where x.id = any (parents)) p on p.id = (i.v->>'parent')::uuid;
  return adopted;
end $$`;

/** Counts new attached children on their parents, which the caller has locked. Work that ends, or waits for its end, takes none. */
const countChildren = `
create function count_children(p_parents uuid[]) returns void language plpgsql ${byKeys} as $$
declare counted int;
begin
  update execution x set open_children = x.open_children + c.n from (select p.id, count(*)::int as n from unnest(p_parents) p(id) group by 1) c
    where x.id = any (p_parents) and x.id = c.id and x.ended_at is null and x.ending is null;
  get diagnostics counted = row_count;
  if counted < (select count(distinct p) from unnest(p_parents) p) then raise exception 'the parent takes no more children' using errcode = 'check_violation'; end if;
end $$`;

/** A repeated phase admits its children once more: what is there by their ids has to be they. */
const assertOwnChildren = `
create function assert_own_children(p_items jsonb) returns void language plpgsql ${byKeys} as $$
declare ids uuid[] := array(select (v->>'id')::uuid from jsonb_array_elements(p_items) v where v ? 'parent');
begin
  if exists (select from jsonb_array_elements(p_items) i(v) left join (select * from execution y where y.id = any (ids)) x on x.id = (i.v->>'id')::uuid
      where i.v ? 'parent' and x.parent_id is distinct from (i.v->>'parent')::uuid) then
    raise exception 'another execution has the id of a child' using errcode = 'unique_violation';
  end if;
end $$`;

/**
 * A child has ended: its parent counts one less and gets the signal, in the transaction of that end. The caller holds both heads. A parent that has
 * ended gets history, and one that is gone gets nothing.
 */
const endChild = `
create function end_child(h execution, p_notice text) returns void language plpgsql as $$
begin
  if h.attached then update execution x set open_children = x.open_children - 1 where x.id = h.parent_id; end if;
  perform send_signal(h.parent_id, 'child-ended', null, decode(p_notice, 'base64'));
end $$`;

/** The open attached work below these, of any depth. The caller asks again once it holds what was answered: only then nothing more can come. */
const attachedOf = `
create function attached_of(p_ids uuid[]) returns setof uuid language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query with recursive below(id) as (
    select x.id from execution x where x.parent_id = any (p_ids) and x.attached and x.ended_at is null
    union select x.id from below b join execution x on x.parent_id = b.id where x.attached and x.ended_at is null)
  select b.id from below b;
end $$`;

/** Whether the transaction's tenant has this execution: asked by a policy, which cannot ask its own table by itself. */
const isHere = `
create function execution_is_here(p_id uuid) returns boolean language plpgsql stable ${byKeys} as $$
begin
  return exists (select from execution x where x.id = p_id);
end $$`;

const functions = ['attached_of(uuid[])', 'end_child(execution, text)', 'assert_own_children(jsonb)', 'count_children(uuid[])', 'adopt_children(jsonb)', 'execution_is_here(uuid)'];

/** Work below other work: how it is admitted, counted and ended. */
export class EngineChildren1764500000070 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [isHere, adoptChildren, countChildren, assertOwnChildren, endChild, attachedOf]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_app`);
    }
    // Whichever statement stores it: no child has a parent of another tenant.
    await q.query(
      `create policy execution_child on execution as restrictive for insert to openbot_app
       with check (organization_id = tenant_organization() and project_id = tenant_project() and (parent_id is null or execution_is_here(parent_id)))`,
    );
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop policy execution_child on execution`);
    for (const name of functions) await q.query(`drop function ${name}`);
  }
}
