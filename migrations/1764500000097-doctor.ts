import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What an operator may ask about the work of all tenants. Every function answers counts and ids and reads indexes up to a limit; each is STABLE, so that
 * all that it and what it calls read is one snapshot: work that moves meanwhile is never half seen. The engine's role is given the columns that say
 * where work stands, and none that holds content.
 */
const definer = 'language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off';

/** What one owner holds. */
const ownedBy = `
create function doctor_owned_by(p_owner text, p_epoch bigint) returns table (found bigint, examples uuid[]) ${definer} as $$
begin
  return query select count(*), (array_agg(x.id order by x.id))[1:5] from execution x where x.owner = p_owner and x.epoch = p_epoch;
end $$`;

/**
 * Open work that is neither owned nor ready nor has an instant to wake at, and that nobody will wake. The engine knows its own wakers: an unknown call waits for its
 * decision, a parent for its attached children. What a workflow is woken by from outside only the workflow knows: its function \`feature_waker_<workflow>(ids)\` (STABLE, owned by
 * openbot_engine) answers those of the ids that something there will still wake; without it nothing will.
 */
const parked = `
create function doctor_parked(p_limit int) returns table (found bigint, examples uuid[], more boolean) ${definer} as $$
declare parked uuid[]; woken uuid[]; w record; known uuid[]; waker text;
begin
  parked := array(select x.id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null order by x.id limit p_limit + 1);
  more := cardinality(parked) > p_limit;
  parked := parked[1:p_limit];
  woken := array(select distinct c.execution_id from execution_call c where c.execution_id = any (parked) and c.state = 'unknown' and c.decided is null)
    || array(select x.id from execution x where x.id = any (parked) and x.open_children > 0
      and exists (select 1 from execution c where c.organization_id = x.organization_id and c.project_id = x.project_id and c.parent_id = x.id and c.attached and c.ended_at is null));
  for w in select x.workflow, array_agg(x.id) as ids from execution x where x.id = any (parked) and x.state = any ('{queued,waiting}') group by 1 loop
    waker := 'public.' || quote_ident('feature_waker_' || w.workflow);
    continue when to_regprocedure(waker || '(uuid[])') is null;
    execute 'select ' || waker || '($1)' into known using w.ids;
    woken := woken || known;
  end loop;
  return query select count(*), (array_agg(p.id order by p.id))[1:5], more from unnest(parked) p(id) where not p.id = any (woken);
end $$`;

/** Logs of the newest and of the owned work that do not end where their head says, or have a hole in their last events. */
const gaps = `
create function doctor_gaps(p_recent int, p_depth int) returns table (found bigint, examples uuid[]) ${definer} as $$
begin
  return query
  with looked_at as (
    (select x.id, x.sequence from execution x order by x.id desc limit p_recent)
    union (select x.id, x.sequence from execution x where x.owner is not null limit p_recent)),
  broken as (
    select l.id from looked_at l cross join lateral (select count(*) as events, max(e.sequence) as last from execution_event e where e.execution_id = l.id and e.sequence > l.sequence - p_depth) e
    where e.events <> least(l.sequence, p_depth) or coalesce(e.last, 0) <> l.sequence)
  select count(*), (array_agg(b.id order by b.id))[1:5] from broken b;
end $$`;

/**
 * Ready work by how long it has waited at most: since its instant, or since the last thing that could have made it ready (its admission, its last event,
 * an unread signal). \`found\` counts what waits longer than \`p_seconds\`.
 */
const ready = `
create function doctor_ready(p_limit int, p_seconds double precision) returns table (found bigint, examples uuid[], more boolean, oldest_seconds double precision) ${definer} as $$
begin
  return query
  with ready as (select x.id, x.runnable_at, x.created_at from execution x where x.runnable_at <= now() and x.owner is null order by x.runnable_at limit p_limit),
  aged as (
    select r.id, extract(epoch from clock_timestamp() - case when r.runnable_at > '-infinity' then r.runnable_at else greatest(r.created_at,
      (select e.created_at from execution_event e where e.execution_id = r.id order by e.sequence desc limit 1),
      (select max(s.created_at) from execution_signal s where s.execution_id = r.id and s.consumed is null)) end)::double precision as seconds from ready r)
  select count(*) filter (where a.seconds > p_seconds), (array_agg(a.id order by a.seconds desc) filter (where a.seconds > p_seconds))[1:5], count(*) = p_limit, max(a.seconds) from aged a;
end $$`;

/** Calls whose result nobody knows and nobody has decided: their work waits for a person. */
const unknown = `
create function doctor_unknown(p_limit int) returns table (found bigint, examples uuid[], more boolean, oldest_seconds double precision) ${definer} as $$
begin
  return query
  with waiting as (select x.id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null and x.state = 'outcome_unknown' order by x.id limit p_limit),
  call as (select c.execution_id, c.created_at from execution_call c where c.execution_id in (select w.id from waiting w) and c.state = 'unknown' and c.decided is null)
  select count(*), (array_agg(distinct c.execution_id))[1:5], (select count(*) = p_limit from waiting), extract(epoch from clock_timestamp() - min(c.created_at))::double precision from call c;
end $$`;

/** Product events that nobody has given their place in the feed, although their transactions have long committed. */
const unnumbered = `
create function doctor_unnumbered(p_limit int, p_seconds double precision) returns table (found bigint, more boolean, oldest_seconds double precision) ${definer} as $$
begin
  return query select count(*) filter (where i.seconds > p_seconds), count(*) = p_limit, max(i.seconds)
    from (select extract(epoch from clock_timestamp() - y.created_at)::double precision as seconds from product_event_inbox y order by y.id limit p_limit) i;
end $$`;

/**
 * Heads that count other children than they have: the newest, the owned and the parked ones, and the parents of all these. One statement moves a number and
 * its child, so that a difference is never a moment in between.
 */
const children = `
create function doctor_children(p_recent int) returns table (found bigint, examples uuid[]) ${definer} as $$
begin
  return query
  with looked_at as (
    (select x.id, x.parent_id from execution x order by x.id desc limit p_recent)
    union (select x.id, x.parent_id from execution x where x.owner is not null limit p_recent)
    union (select x.id, x.parent_id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null order by x.id limit p_recent)),
  family as (select l.id from looked_at l union select l.parent_id from looked_at l where l.parent_id is not null),
  broken as (
    select x.id from family f join execution x on x.id = f.id cross join lateral (
      select count(*) as open from execution c where c.organization_id = x.organization_id and c.project_id = x.project_id and c.parent_id = x.id and c.attached and c.ended_at is null) c
    where x.open_children <> c.open)
  select count(*), (array_agg(b.id order by b.id))[1:5] from broken b;
end $$`;

/** Places in limits, and in their queues, that nothing gives back: their call has ended or is not there, or they should have been cleared long ago. */
const permits = `
create function doctor_permits(p_limit int, p_seconds double precision) returns table (found bigint, examples uuid[], more boolean) ${definer} as $$
begin
  return query
  with taken as (select p.execution_id, p.step, p.name, p.attempt, p.state, p.expires_at from permit p order by p.execution_id limit p_limit),
  kept as (
    select t.execution_id from taken t where t.state <> 'freed' and case when t.expires_at is not null then t.expires_at < clock_timestamp() - make_interval(secs => p_seconds)
      else not exists (select 1 from execution_call c
        where c.execution_id = t.execution_id and c.step = t.step and c.name = t.name and c.attempt = t.attempt and c.state = any ('{intent,sending}')) end)
  select count(*), (array_agg(distinct k.execution_id))[1:5], (select count(*) = p_limit from taken) from kept k;
end $$`;

/** Things whose close nobody has confirmed: of owners that went, and those that could not be closed. The oldest counts since it was last touched. */
const leases = `
create function doctor_leases(p_limit int) returns table (found bigint, examples uuid[], more boolean, oldest_seconds double precision) ${definer} as $$
begin
  return query
  with unsettled as (
    select l.id, coalesce(l.closing_at, l.opened_at) as since from resource_lease l where l.closed_at is null and l.state = any ('{unknown,close_failed}') limit p_limit)
  select count(*), (array_agg(u.id order by u.since))[1:5], count(*) = p_limit, extract(epoch from clock_timestamp() - min(u.since))::double precision from unsettled u;
end $$`;

/** Things that say they are held, by a process that does not live: no later owner of their work has looked at them yet. */
const abandoned = `
create function doctor_abandoned_leases(p_limit int) returns table (found bigint, examples uuid[], more boolean) ${definer} as $$
begin
  return query
  with held as (select l.id, l.owner, l.process from resource_lease l where l.closed_at is null and l.state <> 'unknown' limit p_limit),
  holder as materialized (select o.owner, o.process, lease_holder_lives(o.owner, o.process) as lives from (select distinct h.owner, h.process from held h) o)
  select count(*), (array_agg(h.id order by h.id))[1:5], (select count(*) = p_limit from held)
    from held h join holder o on o.owner = h.owner and o.process is not distinct from h.process where not o.lives;
end $$`;

const functions = [
  'doctor_owned_by(text, bigint)',
  'doctor_parked(int)',
  'doctor_gaps(int, int)',
  'doctor_ready(int, double precision)',
  'doctor_unknown(int)',
  'doctor_unnumbered(int, double precision)',
  'doctor_children(int)',
  'doctor_permits(int, double precision)',
  'doctor_leases(int)',
  'doctor_abandoned_leases(int)',
];
const columns = {
  execution_event: 'execution_id, sequence, created_at',
  execution_call: 'execution_id, step, name, attempt, state, decided, created_at',
  execution_signal: 'execution_id, consumed, created_at',
  resource_lease: 'id, organization_id, project_id, kind, resource, execution_id, owner, process, state, error_id, opened_at, closing_at, closed_at, released_by',
};

export class Doctor1764500000097 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const [table, readable] of Object.entries(columns)) {
      await q.query(`create policy ${table}_doctor on ${table} for select to openbot_engine using (true)`);
      await q.query(`grant select (${readable}) on ${table} to openbot_engine`);
    }
    for (const sql of [ownedBy, parked, gaps, ready, unknown, unnumbered, children, permits, leases, abandoned]) await q.query(sql);
    for (const name of functions) {
      await q.query(`alter function ${name} owner to openbot_engine`);
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
    for (const [table, readable] of Object.entries(columns)) {
      await q.query(`revoke select (${readable}) on ${table} from openbot_engine`);
      await q.query(`drop policy ${table}_doctor on ${table}`);
    }
  }
}
