import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** An identity whose rights were taken away, and since when: what acts with it sends nothing more. There is no way back, a new right is a new identity. */
const identityRevocation = `
create table identity_revocation (
  organization_id uuid not null,
  identity_id uuid not null,
  since timestamptz not null default clock_timestamp(),
  primary key (organization_id, identity_id)
)`;

/** The calls of an execution: of a step, of a name, or all; the latest attempt of each or every one. Recovery, retries and readers ask here. */
const callsOf = `
create function calls_of(p_id uuid, p_step int, p_name text, p_latest boolean) returns setof execution_call language sql stable as $$
  select c.* from execution_call c where c.execution_id = p_id and (p_step is null or c.step = p_step) and (p_name is null or c.name = p_name)
    and (not p_latest or not exists (select 1 from execution_call l where l.execution_id = c.execution_id and l.step = c.step and l.name = c.name and l.attempt > c.attempt))
$$`;

/** One attempt by its id. */
const callOf = `
create function call_of(p_id uuid, p_step int, p_name text, p_attempt int) returns execution_call language sql stable as $$
  select c from execution_call c where c.execution_id = p_id and c.step = p_step and c.name = p_name and c.attempt = p_attempt
$$`;

/**
 * Whoever revokes excludes the gates of that identity, and gates each other not: a gate that commits later than a revocation has seen it. No row is
 * locked, because nearly every identity has none. Locked before heads, so that a revoker may touch the heads of the work that it stops.
 */
const revokeIdentity = `
create function revoke_identity(p_identity uuid) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('openbot:identity:' || p_identity, 0));
  insert into identity_revocation (organization_id, identity_id) values (tenant_organization(), p_identity) on conflict do nothing;
  return found;
end $$`;

/**
 * Whoever admits work that acts for a member holds the member, before any head; whoever takes the member's rights away excludes them. So there is no
 * work that was admitted under the old rights and not seen by the one who took them. A child needs none of it: its parent's head is held.
 */
const holdMember = `
create function hold_member(p_member uuid) returns void language sql as $$
  select pg_advisory_xact_lock_shared(hashtextextended('openbot:member:' || p_member, 0))
$$`;

/** The open work in these projects of the transaction's organization that acts for these members, with what is below it. With \`p_lock\` its heads are locked. */
const openWorkOf = `
create function open_work_of(p_members uuid[], p_projects uuid[], p_lock boolean) returns table (o_id uuid, o_project uuid, o_identity uuid) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  if p_lock then
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (p_members) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null)
      order by x.id for no key update;
  else
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (p_members) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null);
  end if;
end $$`;

/**
 * Takes from members the right to act in these projects, for all of their work that is open: members, identities and heads are locked in this order, each
 * by id, so that the caller holds no head yet. Every identity is revoked, and every work asked to stop and told why. Answers what was touched. What was
 * admitted below that work while its heads were waited for makes it start anew.
 */
const revokeWorkOf = `
create function revoke_work_of(p_members uuid[], p_projects uuid[]) returns uuid[] language plpgsql set app.project = '' as $$
declare r record; revoked uuid[] := '{}'; held uuid[] := '{}'; works jsonb := '[]';
begin
  for r in select distinct m.id from unnest(p_members) m(id) order by 1 loop
    perform pg_advisory_xact_lock(hashtextextended('openbot:member:' || r.id, 0));
  end loop;
  for r in select distinct o.o_identity::text as id from open_work_of(p_members, p_projects, false) o where o.o_identity is not null order by 1 loop
    perform revoke_identity(r.id::uuid);
    revoked := revoked || r.id::uuid;
  end loop;
  for r in select * from open_work_of(p_members, p_projects, true) loop
    held := held || r.o_id;
    works := works || jsonb_build_object('id', r.o_id, 'project', r.o_project);
  end loop;
  if exists (select from open_work_of(p_members, p_projects, false) o where not o.o_id = any (held) or not coalesce(o.o_identity = any (revoked), true)) then
    raise exception 'work was admitted below work that is being stopped' using errcode = 'serialization_failure';
  end if;
  for r in select (w.v->>'id')::uuid as id, w.v->>'project' as project from jsonb_array_elements(works) w(v) loop
    perform set_config('app.project', r.project, true);
    perform send_signal(r.id, 'identity-revoked', 1, null);
    perform request_cancel(r.id);
  end loop;
  return held;
end $$`;

/** Shares the identities that a batch's gates ask for. With \`p_skip\` it answers the executions of those that somebody is revoking just now. */
const lockIdentities = `
create function lock_identities(p_items jsonb, p_skip boolean) returns uuid[] language plpgsql as $$
declare r record; held uuid[] := '{}';
begin
  for r in select c.v->'gate'->>'identity' as identity, array_agg((i.v->>'id')::uuid) as ids
    from jsonb_array_elements(p_items) i(v) cross join jsonb_array_elements(i.v->'calls') c(v) where c.v->'gate' ? 'identity' group by 1 order by 1
  loop
    if not p_skip then perform pg_advisory_xact_lock_shared(hashtextextended('openbot:identity:' || r.identity, 0));
    elsif not pg_try_advisory_xact_lock_shared(hashtextextended('openbot:identity:' || r.identity, 0)) then held := held || r.ids; end if;
  end loop;
  return held;
end $$`;

/**
 * The last gate of a call, in the commit that marks it as sending; that commit's fence has asked for the owner, the state and the cancel number. What is
 * not there refuses nothing: the commit is applied and the call is not let out. Answers the calls as they are to be stored, and why; null is let out.
 */
const passGate = `
create function pass_gate(h execution, p_calls jsonb, out o_calls jsonb, out o_gate jsonb) language plpgsql as $$
declare limited jsonb := jsonb_path_query_first(p_calls, '$[*] ? (exists(@.gate.permit) || exists(@.gate.tokens))');
begin
  o_calls := p_calls;
  if exists (select 1 from identity_revocation r where r.organization_id = h.organization_id and r.identity_id = h.identity_id) then
    o_gate := jsonb_build_object('refused', 'identity_revoked');
  elsif limited is not null then
    o_gate := pass_limits(h, limited);
  end if;
  if o_gate ? 'refused' then
    o_calls := (select jsonb_agg(case when v ? 'gate' then v || jsonb_build_object('to', 'abandoned', 'category', o_gate->'refused', 'unsent', true) else v end) from jsonb_array_elements(p_calls) v);
  elsif o_gate ? 'waits' then
    o_calls := (select jsonb_agg(case when v ? 'gate' then v || '{"to": "intent"}' else v end) from jsonb_array_elements(p_calls) v);
  end if;
end $$`;

/** What the gate of a commit answered that is in already: its answer was lost, the call's row has it. */
const storedGate = `
create function stored_gate(p_id uuid, p_calls jsonb) returns jsonb language plpgsql stable as $$
begin
  return (select case c.state when 'abandoned' then jsonb_build_object('refused', c.failure_category)
      when 'intent' then jsonb_build_object('waits', true, 'until', (select r.ready_at from token_reservation r left join permit p using (execution_id, step, name, attempt)
        where r.execution_id = p_id and r.step = m.step and r.name = m.name and r.attempt = m.attempt and coalesce(p.state, 'held') = 'held')) end
    from jsonb_to_recordset(p_calls) m(step int, name text, attempt int, gate jsonb) cross join lateral call_of(p_id, m.step, m.name, m.attempt) c where m.gate is not null);
end $$`;

/**
 * What the outside answered to a sender that owns the work no more, or that no byte was sent. Head first; then a compare-and-set: a decision that was
 * made stands, and so does what another owner did meanwhile. Stored, it wakes the work and counts usage once; as history it changes no state and wakes
 * nobody. \`p_call\` is the move that the sender could not commit. Answers \`stored\`, \`history\`, \`already\` or \`gone\`.
 */
const lateResult = `
create function late_result(p_organization uuid, p_project uuid, p_id uuid, p_call jsonb) returns text language plpgsql set app.organization = '' set app.project = '' as $$
declare h execution; c execution_call; known boolean := p_call->>'to' in ('succeeded', 'failed');
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return 'gone'; end if;
  c := call_of(p_id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int);
  if c.state is null then return 'gone'; end if;
  -- Whatever becomes of it: nothing of this call is outside any more.
  if known then update permit p set state = 'freed', expires_at = null where p.execution_id = p_id and p.step = c.step and p.name = c.name and p.attempt = c.attempt; end if;
  if h.ended_at is null and c.decided is null and c.state in ('sending', 'unknown') then
    perform commit_calls(jsonb_build_array(jsonb_build_object('id', p_id, 'calls', jsonb_build_array(p_call || '{"move":[]}'))), array[p_id]);
    perform release_limits(jsonb_build_array(jsonb_build_object('id', p_id, 'calls', jsonb_build_array(p_call))), array[p_id]);
    if known then update execution_call x set late = true where x.execution_id = p_id and x.step = c.step and x.name = c.name and x.attempt = c.attempt; end if;
    perform send_signal(p_id, 'call-result', null, null);
    return 'stored';
  end if;
  if c.late or not known or (c.state in ('succeeded', 'failed') and c.decided is null) then return 'already'; end if;
  perform commit_calls(jsonb_build_array(jsonb_build_object('id', p_id, 'calls',
    jsonb_build_array((p_call - 'category' - 'error' - case when c.result is null then '' else 'result' end) || jsonb_build_object('move', '[]'::jsonb, 'to', c.state)))), array[p_id]);
  update execution_call x set late = true, generation = c.generation, ended_at = c.ended_at where x.execution_id = p_id and x.step = c.step and x.name = c.name and x.attempt = c.attempt;
  return 'history';
end $$`;

const forTenants = [
  'calls_of(uuid, int, text, boolean)',
  'call_of(uuid, int, text, int)',
  'revoke_identity(uuid)',
  'hold_member(uuid)',
  'open_work_of(uuid[], uuid[], boolean)',
  'revoke_work_of(uuid[], uuid[])',
];
const forWorkers = ['lock_identities(jsonb, boolean)', 'pass_gate(execution, jsonb)', 'stored_gate(uuid, jsonb)', 'late_result(uuid, uuid, uuid, jsonb)'];

export class EngineCalls1764500000080 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(identityRevocation);
    for (const sql of protectTable('identity_revocation', 'organization')) await q.query(sql);
    for (const sql of [callsOf, callOf, revokeIdentity, holdMember, openWorkOf, revokeWorkOf, lockIdentities, passGate, storedGate, lateResult]) await q.query(sql);
    await q.query(`alter function open_work_of(uuid[], uuid[], boolean) owner to openbot_engine`);
    for (const [names, role] of [
      [forTenants, 'openbot_app'],
      [forWorkers, 'openbot_worker'],
    ] as const)
      for (const name of names) {
        await q.query(`revoke all on function ${name} from public`);
        await q.query(`grant execute on function ${name} to ${role}`);
      }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of [...forTenants, ...forWorkers].reverse()) await q.query(`drop function ${name}`);
    await q.query(`drop table identity_revocation`);
  }
}
