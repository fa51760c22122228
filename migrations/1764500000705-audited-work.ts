import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * That a turn opens the key of a connection, told once for each turn and revision of the connection: \`id\` is made of them. The turn acts, for its
 * author.
 */
const tellSecret = `
create function tell_secret_use(h execution, p_author uuid, p jsonb) returns void language sql as $$
  insert into audit_inbox (organization_id, project_id, id, action, outcome, actor_kind, service, on_behalf_of, target_kind, target_id, detail)
  values (h.organization_id, h.project_id, (p->>'id')::uuid, 'secret.used', 'done', 'service', h.workflow, p_author, 'connection', (p->>'connection')::uuid,
    jsonb_build_object('execution', p->'execution', 'revision', p->'revision'))
$$`;

const rows = (tell: string): string => `
create or replace function feature_rows_chat(h execution, p_aggregate uuid, p_rows jsonb) returns void language plpgsql as $$
declare c chat; added int := jsonb_array_length(coalesce(p_rows->'items', '[]')); turn uuid := (p_rows->>'turn')::uuid;
begin
  select * into c from chat x where x.id = p_aggregate;
  if c.id is null or h.subject_id is distinct from c.id then raise exception 'a turn of another chat' using errcode = 'integrity_constraint_violation'; end if;
  if c.running_turn_id is distinct from turn then raise exception 'a turn that does not advance' using errcode = 'integrity_constraint_violation'; end if;
  if added > 0 and c.item_count <> (p_rows->>'itemCount')::int then raise exception 'items after place %, not %', c.item_count, p_rows->>'itemCount' using errcode = 'integrity_constraint_violation'; end if;

  insert into chat_item (organization_id, project_id, chat_id, seq, id, turn_id, step, input_id, content, notice_kind, notice_ref)
    select h.organization_id, h.project_id, c.id, c.item_count + e.ord, (e.v->>'id')::uuid, turn, (e.v->>'step')::int, (e.v->>'input')::uuid, decode(e.v->>'content', 'base64'), e.v->>'notice', e.v->>'ref'
    from jsonb_array_elements(coalesce(p_rows->'items', '[]')) with ordinality e(v, ord);
  if p_rows ? 'inputs' then
    update chat_input i set taken_at = clock_timestamp(), taken_step = (p_rows->>'step')::int where i.turn_id = turn and i.taken_at is null and i.id in (select v::uuid from jsonb_array_elements_text(p_rows->'inputs') v);
  end if;
  update chat_turn t set steps = (p_rows->>'steps')::int, usage = nullif(p_rows->'usage', 'null'), item_count = t.item_count + added, first_seq = case when t.item_count = 0 then c.item_count + 1 else t.first_seq end,
    state = case when t.state = 'queued' then 'running' else t.state end, started_at = coalesce(t.started_at, clock_timestamp()) where t.id = turn;
  update chat x set revision = x.revision + 1, item_count = x.item_count + added,
    todos = case when p_rows ? 'todos' then decode(p_rows->'todos'->>'body', 'base64') else x.todos end,
    todos_open = case when p_rows ? 'todos' then (p_rows->'todos'->>'open')::int else x.todos_open end,
    todos_version = x.todos_version + (p_rows ? 'todos')::int where x.id = c.id;${tell}
end $$`;
const tell = `
  if p_rows ? 'secret' then perform tell_secret_use(h, (select t.author_member_id from chat_turn t where t.id = turn), p_rows->'secret'); end if;`;

/** An operator's word is told where the thing was held for a project; who said it stays with the lease. */
const release = (told: string): string => `
create or replace function release_lease(p_organization uuid, p_project uuid, p_id uuid, p_by text) returns text language plpgsql set app.organization = '' set app.project = '' as $$
declare l resource_lease;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into l from resource_lease y where y.id = p_id for no key update;
  if not found then return 'gone'; end if;
  if l.closed_at is not null then return case when l.released_by = p_by then 'released' else 'closed' end; end if;
  if lease_holder_lives(l.owner, l.process) then return 'held'; end if;
  update resource_lease y set state = 'closed', closed_at = clock_timestamp(), released_by = p_by where y.id = p_id;${told}
  return 'released';
end $$`;
const told = `
  insert into audit_inbox (organization_id, project_id, id, action, outcome, actor_kind, target_kind, target_id, detail)
    select p.organization_id, p.id, gen_random_uuid(), 'lease.released', 'done', 'operator', 'lease', l.id, '{}' from project p where p.organization_id = l.organization_id and p.id = l.project_id;`;

export class AuditedWork1764500000705 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(tellSecret);
    await q.query(`revoke all on function tell_secret_use(execution, uuid, jsonb) from public`);
    await q.query(`grant execute on function tell_secret_use(execution, uuid, jsonb) to openbot_worker`);
    await q.query(rows(tell));
    await q.query(release(told));
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(release(''));
    await q.query(rows(''));
    await q.query(`drop function tell_secret_use(execution, uuid, jsonb)`);
  }
}
