import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

const tables = [
  `create table call_limit (
    organization_id uuid not null,
    name text not null,
    size int not null,
    next_number bigint not null default 1,
    primary key (organization_id, name),
    constraint call_limit_lets_some_through check (size > 0)
  ) with (fillfactor = 50)`,
  /** A call's place in a limit, or in its queue. Bound to the attempt: a takeover of the work moves it to the next owner and frees nothing. */
  `create table permit (
    execution_id uuid not null,
    step int not null,
    name text not null,
    attempt int not null,
    organization_id uuid not null,
    generation int not null,
    limit_name text not null,
    number bigint not null,
    state text not null default 'waiting',
    woken boolean not null default false,
    timeout_ms int not null,
    expires_at timestamptz,
    primary key (execution_id, step, name, attempt),
    constraint permit_state_known check (state = any ('{waiting,held,freed}'))
  )`,
  `create index permit_of_limit on permit (organization_id, limit_name, state, number)`,
  `create index permit_freed on permit (organization_id, limit_name) where state = 'freed'`,
  `create index permit_expiring on permit (expires_at) where expires_at is not null`,
  `create index permit_unwoken on permit (execution_id) where state = 'held' and not woken`,
  `create table token_bucket (
    organization_id uuid not null,
    name text not null,
    capacity double precision not null,
    refill_per_second double precision not null,
    level double precision not null,
    as_of timestamptz not null,
    primary key (organization_id, name),
    constraint token_bucket_fills_up check (capacity > 0 and refill_per_second > 0)
  ) with (fillfactor = 50)`,
  /** What a call took, ready at an instant of the database's clock; \`used\` once it is known, and given back by the next who takes. */
  `create table token_reservation (
    execution_id uuid not null,
    step int not null,
    name text not null,
    attempt int not null,
    organization_id uuid not null,
    bucket text not null,
    amount double precision not null,
    ready_at timestamptz not null,
    used double precision,
    primary key (execution_id, step, name, attempt)
  )`,
  `create index token_reservation_settled on token_reservation (organization_id, bucket) where used is not null`,
];

/** Under the lock of the limit: clears what is over, and lets the first of the queue in. Their heads are nobody's business here: they are woken later. */
const grantPlaces = `
create function grant_places(p_organization uuid, p_limit text) returns void language plpgsql as $$
declare room int;
begin
  delete from permit p where p.organization_id = p_organization and p.limit_name = p_limit and (p.state = 'freed' or (p.state = 'held' and p.expires_at <= clock_timestamp()));
  select l.size - (select count(*) from permit p where p.organization_id = p_organization and p.limit_name = p_limit and p.state = 'held') into room
    from call_limit l where l.organization_id = p_organization and l.name = p_limit;
  if room > 0 then
    update permit p set state = 'held' from (
      select w.execution_id, w.step, w.name, w.attempt from permit w where w.organization_id = p_organization and w.limit_name = p_limit and w.state = 'waiting' order by w.number limit room) n
    where p.execution_id = n.execution_id and p.step = n.step and p.name = n.name and p.attempt = n.attempt;
  end if;
end $$`;

/** The place of a call whose head is locked; \`false\`: it stands in the queue. Heads first, then limits, then buckets. */
const takePlace = `
create function take_place(h execution, p_call jsonb) returns boolean language plpgsql as $$
declare l call_limit; wanted jsonb := p_call->'gate'->'permit'; p permit;
begin
  insert into call_limit as c (organization_id, name, size) values (h.organization_id, wanted->>'limit', (wanted->>'size')::int)
    on conflict (organization_id, name) do update set size = excluded.size, next_number = c.next_number + 1 returning * into l;
  insert into permit (execution_id, step, name, attempt, organization_id, generation, limit_name, number, timeout_ms)
    values (h.id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int, h.organization_id, h.generation, l.name, l.next_number, (wanted->>'timeoutMs')::int)
    on conflict (execution_id, step, name, attempt) do update set generation = excluded.generation;
  perform grant_places(h.organization_id, l.name);
  update permit x set woken = true where x.execution_id = h.id and x.step = (p_call->>'step')::int and x.name = p_call->>'name' and x.attempt = (p_call->>'attempt')::int and x.state = 'held'
    returning * into p;
  return p.execution_id is not null;
end $$`;

/**
 * Tokens of a bucket for a call whose head is locked: they are taken at once, from those to come when there are not enough, and the call passes when
 * they are there. So nobody overtakes, everybody knows its instant, and by any instant no more went out than had come in. Answers that instant.
 */
const takeTokens = `
create function take_tokens(h execution, p_call jsonb) returns timestamptz language plpgsql as $$
declare b token_bucket; wanted jsonb := p_call->'gate'->'tokens'; amount double precision := (wanted->>'amount')::double precision; r token_reservation; back double precision;
begin
  insert into token_bucket as t (organization_id, name, capacity, refill_per_second, level, as_of)
    values (h.organization_id, wanted->>'bucket', (wanted->>'capacity')::double precision, (wanted->>'refillPerSecond')::double precision, (wanted->>'capacity')::double precision, clock_timestamp())
    on conflict (organization_id, name) do update set capacity = excluded.capacity, refill_per_second = excluded.refill_per_second, as_of = excluded.as_of,
      level = least(excluded.capacity, t.level + greatest(0, extract(epoch from excluded.as_of - t.as_of)) * t.refill_per_second) returning * into b;
  with settled as (delete from token_reservation s where s.organization_id = h.organization_id and s.bucket = b.name and s.used is not null returning s.amount - s.used as rest)
    select coalesce(sum(rest), 0) into back from settled;
  b.level := least(b.capacity, b.level + back);
  select * into r from token_reservation x where x.execution_id = h.id and x.step = (p_call->>'step')::int and x.name = p_call->>'name' and x.attempt = (p_call->>'attempt')::int;
  if r.execution_id is null then
    b.level := b.level - amount;
    r.ready_at := b.as_of + make_interval(secs => greatest(0, - b.level) / b.refill_per_second);
    insert into token_reservation (execution_id, step, name, attempt, organization_id, bucket, amount, ready_at)
      values (h.id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int, h.organization_id, b.name, amount, r.ready_at);
  end if;
  update token_bucket t set level = b.level where t.organization_id = h.organization_id and t.name = b.name;
  return r.ready_at;
end $$`;

/** What the gate of a call answers for its limits: null when it may go out now. */
const passLimits = `
create function pass_limits(h execution, p_call jsonb) returns jsonb language plpgsql as $$
declare at timestamptz; gate jsonb := p_call->'gate';
begin
  if (gate->'tokens'->>'amount')::double precision > (gate->'tokens'->>'capacity')::double precision then return '{"refused": "exceeds_bucket"}'; end if;
  if gate ? 'permit' and not take_place(h, p_call) then return '{"waits": true}'; end if;
  if gate ? 'tokens' then at := take_tokens(h, p_call); end if;
  if at > clock_timestamp() then return jsonb_build_object('waits', true, 'until', at); end if;
  return null;
end $$`;

/**
 * What the calls of applied commits give back. A result ends the place, and so does an owner that sent no byte; one that was given up keeps it for as
 * long as what it sent may be on its way. Touches rows of the calls alone: who comes next is let in by others.
 */
const releaseLimits = `
create function release_limits(p_items jsonb, p_ids uuid[]) returns void language plpgsql as $$
declare m record; over boolean;
begin
  for m in select i.id, c.* from jsonb_populate_recordset(null::commit_item, p_items) i
    cross join jsonb_to_recordset(i.calls) c(step int, name text, attempt int, "to" text, limited boolean, unsent boolean, used double precision)
    where i.id = any (p_ids) and c.limited and c."to" = any ('{succeeded,failed,unknown,abandoned}') order by i.id, c.step, c.name, c.attempt
  loop
    over := m."to" in ('succeeded', 'failed') or coalesce(m.unsent, false);
    update permit p set state = case when over then 'freed' else p.state end, expires_at = case when over then null else clock_timestamp() + make_interval(secs => p.timeout_ms / 1000.0) end,
      generation = (select x.generation from execution x where x.id = m.id)
      where p.execution_id = m.id and p.step = m.step and p.name = m.name and p.attempt = m.attempt and p.state <> 'freed' and (over or p.expires_at is null);
    update token_reservation r set used = case when m.unsent then 0 else coalesce(m.used, r.used, r.amount) end
      where r.execution_id = m.id and r.step = m.step and r.name = m.name and r.attempt = m.attempt;
  end loop;
end $$`;

/** Lets the next in where a place is free: what freed it left its row as the note. Limits in order, no heads. Answers how many limits had one. */
const grantPermits = `
create function grant_permits() returns int language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare l record; served int := 0;
begin
  for l in select p.organization_id, p.limit_name from permit p where p.state = 'freed'
    union select p.organization_id, p.limit_name from permit p where p.expires_at <= clock_timestamp() and p.state = 'held' order by 1, 2
  loop
    perform 1 from call_limit c where c.organization_id = l.organization_id and c.name = l.limit_name for no key update;
    perform grant_places(l.organization_id, l.limit_name);
    served := served + 1;
  end loop;
  return served;
end $$`;

/** Wakes the work that was let in: counted on its head, so that an owner that is about to wait is refused. What is locked now is woken by the next. */
const wakePermitted = `
create function wake_permitted() returns setof uuid language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare waiting uuid[] := array(select distinct p.execution_id from permit p where p.state = 'held' and not p.woken limit 200); ready uuid[];
begin
  if cardinality(waiting) = 0 then return; end if;
  with locked as materialized (select x.id from execution x where x.id = any (waiting) order by x.id for no key update skip locked),
  moved as (
    update execution x set signal_count = x.signal_count + 1, runnable_at = case when x.owner is null and x.ended_at is null then '-infinity'::timestamptz else x.runnable_at end
    from locked where x.id = locked.id returning x.id)
  select array_agg(id) into ready from moved;
  update permit p set woken = true where p.execution_id = any (ready) and p.state = 'held' and not p.woken;
  return query select unnest(ready);
end $$`;

const shared = ['grant_places(uuid, text)'];
const forWorkers = ['take_place(execution, jsonb)', 'take_tokens(execution, jsonb)', 'pass_limits(execution, jsonb)', 'release_limits(jsonb, uuid[])'];
const definers = ['grant_permits()', 'wake_permitted()'];

export class EngineLimits1764500000081 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of tables) await q.query(sql);
    for (const table of ['call_limit', 'permit', 'token_bucket', 'token_reservation']) for (const sql of protectTable(table, 'organization')) await q.query(sql);
    await q.query(`create policy call_limit_engine on call_limit to openbot_engine using (true) with check (true)`);
    await q.query(`create policy permit_engine on permit to openbot_engine using (true) with check (true)`);
    await q.query(`grant select, update on call_limit to openbot_engine`);
    await q.query(`grant select, update, delete on permit to openbot_engine`);
    for (const sql of [grantPlaces, takePlace, takeTokens, passLimits, releaseLimits, grantPermits, wakePermitted]) await q.query(sql);
    for (const name of definers) await q.query(`alter function ${name} owner to openbot_engine`);
    for (const name of [...shared, ...forWorkers, ...definers]) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
    for (const name of shared) await q.query(`grant execute on function ${name} to openbot_engine`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of [...shared, ...forWorkers, ...definers]) await q.query(`drop function ${name}`);
    await q.query(`drop table token_reservation, token_bucket, permit, call_limit`);
  }
}
