import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The time of work is a clock of its own: it runs from the first claim on, and stands while the work waits for a person, and while it has no owner after
 * a crash, a handover or a drain. An attached child's is set by its parent's, not by the day's: what stops a parent stops the children, to any depth, and
 * two that stand at once are not counted twice. `ran_ms` is where it stood last, `ran_from` the outer clock at its last start, null while it stands.
 * A parent is read without a lock: it decides how much time is left, never who may write.
 */
const outerClock = `
create function outer_clock(p_parent uuid) returns bigint language plpgsql as $$
declare parent execution;
begin
  if p_parent is not null then
    select * into parent from execution x where x.id = p_parent;
    if found then return work_clock(parent); end if;
  end if;
  return (extract(epoch from clock_timestamp()) * 1000)::bigint;
end $$`;

/** How long the work has run, in milliseconds. A clock of the database that is set back takes nothing of it away. */
const workClock = `
create function work_clock(h execution) returns bigint language plpgsql as $$
begin
  return h.ran_ms + case when h.ran_from is null then 0 else greatest(0, outer_clock(case when h.attached then h.parent_id end) - h.ran_from) end;
end $$`;

/** Whether a parent stands at the moment, so that nobody knows when the time of its children goes on. */
const parentStands = `
create function parent_stands(h execution) returns boolean language plpgsql as $$
declare parent execution;
begin
  if not h.attached or h.parent_id is null then return false; end if;
  select * into parent from execution x where x.id = h.parent_id;
  return found and (parent.ran_from is null or parent_stands(parent));
end $$`;

/** When the work's time is over if nothing stops its clock before: its deadline, or the end of its budget. Null without either, and once it was told. */
const workExpiry = `
create function work_expiry(h execution) returns timestamptz language plpgsql as $$
begin
  if h.expired_at is not null then return null; end if;
  return least(h.deadline, case when h.budget_ms is not null then clock_timestamp() + make_interval(secs => (h.budget_ms - work_clock(h)) / 1000.0) end);
end $$`;

/**
 * When a wait looks at its time again: not before it can be over. While a parent stands that is soon, and the same each time: then every five seconds.
 * While the work itself waits for a person, its deadline alone counts.
 */
const waitExpiry = `
create function wait_expiry(h execution, p_human boolean) returns timestamptz language plpgsql as $$
begin
  if h.expired_at is not null or p_human then return case when h.expired_at is null then h.deadline end; end if;
  return greatest(work_expiry(h), case when parent_stands(h) then least(h.deadline, clock_timestamp() + interval '5 s') end);
end $$`;

/** What is left to an owner, in milliseconds: asked when its timer says that the time is over. */
const timeLeft = `
create function time_left(p_organization uuid, p_project uuid, p_id uuid) returns double precision language plpgsql set app.organization = '' set app.project = '' as $$
declare h execution;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = p_id;
  return extract(epoch from work_expiry(h) - clock_timestamp())::double precision * 1000;
end $$`;

const functions = ['outer_clock(uuid)', 'work_clock(execution)', 'parent_stands(execution)', 'work_expiry(execution)', 'wait_expiry(execution, boolean)'];

export class EngineClocks1764500000015 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [outerClock, workClock, parentStands, workExpiry, waitExpiry, timeLeft]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker, openbot_engine`);
    }
    await q.query(`revoke all on function time_left(uuid, uuid, uuid) from public`);
    await q.query(`grant execute on function time_left(uuid, uuid, uuid) to openbot_worker`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of ['time_left(uuid, uuid, uuid)', ...functions.reverse()]) await q.query(`drop function ${name}`);
  }
}
