import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Claims ready work: ordered by readiness, skipping what is locked. Never overwrites `cancelling` or `outcome_unknown`.
 * `p_alone` takes what stalled three times or more, and nothing else: who died with its process was killed by one of those it ran beside, so the third
 * time 64 run by themselves, the fourth time eight, and from the fifth on one. The others are taken without those.
 *
 * A claim alone need not reach the disk: whatever its owner does outside follows a commit of the same work, and the log reaches the disk in order. A
 * claim that a crash of the database undid leaves its number of the generation to the next one, so the fence also knows the claim by its id.
 */
const claim = `
create function claim_executions(p_known text[], p_node text, p_epoch bigint, p_limit int, p_alone boolean)
returns table (head execution, claimed_at timestamptz, was_runnable_at timestamptz, was_state text, expires_at timestamptz) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare ids uuid[]; claims uuid[]; instants timestamptz[]; states text[];
begin
  if p_alone then
    select array_agg(r.id), array_agg(gen_random_uuid()), array_agg(r.runnable_at), array_agg(r.state) into ids, claims, instants, states from (
      select y.*, first_value(y.stalls) over (order by y.runnable_at, y.id) as kind, row_number() over (partition by y.stalls order by y.runnable_at, y.id) as place from (
        select x.id, x.runnable_at, x.state, x.stalls from execution x
        where x.runnable_at <= clock_timestamp() and x.owner is null and x.runnable_at is not null
          and x.workflow || ':' || x.workflow_version = any (p_known) and x.stalls >= 3
        order by x.runnable_at limit p_limit for no key update skip locked) y) r
      where r.stalls = r.kind and r.place <= case r.kind when 3 then 64 when 4 then 8 else 1 end;
  else
    select array_agg(r.id), array_agg(gen_random_uuid()), array_agg(r.runnable_at), array_agg(r.state) into ids, claims, instants, states from (
      select x.id, x.runnable_at, x.state from execution x
      where x.runnable_at <= clock_timestamp() and x.owner is null and x.runnable_at is not null
        and x.workflow || ':' || x.workflow_version = any (p_known) and x.stalls < 3
      order by x.runnable_at limit p_limit for no key update skip locked) r;
  end if;
  if ids is null then return; end if;
  perform set_config('synchronous_commit', 'off', true);
  return query
  update execution x set owner = p_node, epoch = p_epoch, claim_id = claims[array_position(ids, x.id)], last_claim_id = claims[array_position(ids, x.id)], generation = x.generation + 1, runnable_at = null,
    started_at = coalesce(x.started_at, clock_timestamp()), ran_from = coalesce(x.ran_from, outer_clock(case when x.attached then x.parent_id end)), state = case when x.state in ('queued', 'waiting') then 'running' else x.state end
  where x.id = any (ids) returning x, clock_timestamp(), instants[array_position(ids, x.id)], states[array_position(ids, x.id)],
    case when x.deadline is not null or x.budget_ms is not null then work_expiry(x) end;
end $$`;

/** Whether work is ready, when the next timer is due, and whether stalled work is ready that wants a node for itself. */
const nextReady = `
create function next_ready(p_known text[]) returns table (ready boolean, ready_in_ms double precision, stalled_ready boolean) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query select coalesce(bool_or(x.runnable_at <= clock_timestamp()), false), extract(epoch from min(x.runnable_at) filter (where x.runnable_at > '-infinity') - clock_timestamp())::double precision * 1000,
    coalesce(bool_or(x.stalls >= 3 and x.runnable_at <= clock_timestamp()), false)
  from (select y.runnable_at, y.stalls from execution y where y.runnable_at is not null and y.owner is null and y.workflow || ':' || y.workflow_version = any (p_known)
    order by y.runnable_at limit 50) x;
end $$`;

/**
 * Takeover, orphans, the return of the same name: one ordered statement that does not wait. What is locked now is found by the next sweep.
 * A takeover costs a stall (\`p_cost\` 1); from the third on the work waits 2^n seconds. Its own time ran until the owner's last sign of life.
 */
const release = `
create function release_executions(p_owner text, p_epoch bigint, p_keep uuid[], p_cost int) returns setof uuid language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare n node;
begin
  select * into n from node y where y.name = p_owner;
  return query
  with lost as materialized (
    select x.id from execution x where x.owner = p_owner and (p_epoch is null or x.epoch = p_epoch) and not (x.claim_id = any (p_keep))
    order by x.id for no key update skip locked)
  update execution x set owner = null, epoch = null, claim_id = null, stalls = x.stalls + p_cost,
    runnable_at = case when x.stalls + p_cost >= 3 then clock_timestamp() + make_interval(secs => power(2, least(x.stalls + p_cost, 8))) else '-infinity'::timestamptz end,
    ran_from = null, ran_ms = greatest(x.ran_ms, work_clock(x) - greatest(0, coalesce(
      (extract(epoch from clock_timestamp() - case x.epoch when n.epoch then n.seen_at when n.epoch - 1 then n.last_epoch_seen_at end) * 1000)::bigint, work_clock(x))))
  from lost where x.id = lost.id returning x.id;
end $$`;

const owners = `
create function list_owners() returns table (owner text, epoch bigint, held bigint) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query select x.owner, x.epoch, count(*) from execution x where x.owner is not null group by x.owner, x.epoch;
end $$`;

/** What an owner must notice without being told: cancels and signals of the work that it runs. */
const watch = `
create function watch_owned(p_owner text, p_epoch bigint) returns table (id uuid, claim_id uuid, state text, signal_count int) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query select x.id, x.claim_id, x.state, x.signal_count from execution x where x.owner = p_owner and x.epoch = p_epoch;
end $$`;

/**
 * Locks heads in id order and names their tenants: the one part of a commit that crosses tenants. With \`p_skip\` it leaves out what
 * others hold, so that one held row never stalls a lane. Three arrays of one order; null when it got nothing.
 */
const lockHeads = `
create function lock_heads(p_ids uuid[], p_skip boolean, out ids uuid[], out organizations uuid[], out projects uuid[]) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if cardinality(p_ids) = 1 then
    -- One alone has no order.
    if p_skip then
      select array[x.id], array[x.organization_id], array[x.project_id] into ids, organizations, projects from execution x where x.id = p_ids[1] for no key update skip locked;
    else
      select array[x.id], array[x.organization_id], array[x.project_id] into ids, organizations, projects from execution x where x.id = p_ids[1] for no key update;
    end if;
  elsif p_skip then
    select array_agg(l.id), array_agg(l.organization_id), array_agg(l.project_id) into ids, organizations, projects
      from (select x.id, x.organization_id, x.project_id from execution x where x.id = any (p_ids) order by x.id for no key update skip locked) l;
  else
    select array_agg(l.id), array_agg(l.organization_id), array_agg(l.project_id) into ids, organizations, projects
      from (select x.id, x.organization_id, x.project_id from execution x where x.id = any (p_ids) order by x.id for no key update) l;
  end if;
end $$`;

/**
 * Everything that a new owner needs besides the head: open signals and the latest attempt of every call. What earlier owners held is lost from here
 * on. Runs under the tenant's policies.
 * \`announced\`: of running work that was claimed before, the state that the log says: a claim whose owner never committed did not get as far as saying it.
 */
const load = `
create function load_work(p_organization uuid, p_project uuid, p_id uuid) returns jsonb language plpgsql set app.organization = '' set app.project = '' as $$
declare found_signals jsonb; found_calls jsonb; head jsonb; generation int;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select jsonb_build_object('state', x.state, 'claim', x.claim_id, 'signalCount', x.signal_count, 'cancelNumber', x.cancel_number, 'commitNumber', x.commit_number, 'openChildren', x.open_children,
    'announced', case when x.generation > 1 and x.state = 'running' then (select e.state from execution_event e where e.execution_id = x.id and e.type = 'State' order by e.sequence desc limit 1) end), x.generation into head, generation
    from execution x where x.id = p_id;
  if generation > 1 then perform lose_leases(p_id, generation); end if;
  select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'number', s.number, 'body', encode(s.body, 'base64')) order by s.created_at, s.name, s.number), '[]') into found_signals
    from execution_signal s where s.execution_id = p_id and s.consumed is null;
  select coalesce(jsonb_agg(to_jsonb(c) - 'result' - 'input' || jsonb_build_object('result', encode(c.result, 'base64'), 'input', case when c.state = 'sending' then encode(c.input, 'base64') end) order by c.step, c.name), '[]') into found_calls
    from calls_of(p_id, null, null, true) c;
  return jsonb_build_object('head', head, 'signals', found_signals, 'calls', found_calls);
end $$`;

/** A node lives as long as its connection holds the lock on its name. */
const nodeLives = `
create function node_lives(p_name text) returns boolean language plpgsql stable as $$
begin
  return exists (select 1 from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended('openbot:node:' || p_name, 0));
end $$`;

/** Work that could go on and that nobody can move: no live node says that it knows its workflow in this version. */
const unknown = `
create function unknown_workflows() returns table (workflow text, version int, executions bigint, oldest timestamptz) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare known text[] := array(select distinct k from node n cross join unnest(n.knows) k where node_lives(n.name));
begin
  return query select x.workflow, x.workflow_version, count(*), min(x.created_at) from execution x
    where x.runnable_at is not null and x.owner is null and not x.workflow || ':' || x.workflow_version = any (known) group by 1, 2 order by 1, 2;
end $$`;

const definers = [
  'claim_executions(text[], text, bigint, int, boolean)',
  'next_ready(text[])',
  'unknown_workflows()',
  'release_executions(text, bigint, uuid[], int)',
  'list_owners()',
  'watch_owned(text, bigint)',
  'lock_heads(uuid[], boolean)',
];

export class EngineOwnership1764500000020 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [claim, nextReady, nodeLives, unknown, release, owners, watch, lockHeads, load]) await q.query(sql);
    for (const name of definers) {
      await q.query(`alter function ${name} owner to openbot_engine`);
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
    await q.query(`revoke all on function node_lives(text) from public`);
    await q.query(`grant execute on function node_lives(text) to openbot_worker, openbot_engine`);
    await q.query(`revoke all on function load_work(uuid, uuid, uuid) from public`);
    await q.query(`grant execute on function load_work(uuid, uuid, uuid) to openbot_worker`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of [...definers, 'node_lives(text)', 'load_work(uuid, uuid, uuid)']) await q.query(`drop function ${name}`);
  }
}
