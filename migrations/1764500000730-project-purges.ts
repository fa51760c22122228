import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * The end of a project, and its receipt. `id` is the project's own: no project ends twice, and where there is a row nothing begins any more. Nothing here
 * refers to the project, its members or its work, because all of those go. `rows`: how many were removed, by table.
 * `audit_length`, `audit_hash`: the end of the project's audit chain, as the organization's tells it too.
 */
const purge = [
  `create table project_purge (
    organization_id uuid not null constraint project_purge_belongs_to_organization references organization,
    id uuid not null,
    name text not null,
    requested_by uuid not null,
    requested_with uuid not null,
    execution_id uuid not null,
    state text not null default 'stopping' constraint project_purge_state_is_known check (state in ('stopping', 'objects', 'rows', 'leftovers', 'completed')),
    calls_settled integer not null default 0,
    leases_left integer not null default 0,
    objects_removed bigint not null default 0,
    objects_failed integer not null default 0,
    failed_objects text[] not null default '{}' constraint project_purge_lists_some_failures check (cardinality(failed_objects) <= 100),
    rows jsonb not null default '{}',
    audit_length bigint,
    audit_hash bytea,
    requested_at timestamptz not null default clock_timestamp(),
    moved_at timestamptz not null default clock_timestamp(),
    completed_at timestamptz,
    constraint project_purge_is_named_by_project primary key (organization_id, id),
    constraint project_purge_end_is_marked check ((completed_at is not null) = (state = 'completed')),
    constraint project_purge_chain_is_whole check (num_nulls(audit_length, audit_hash) in (0, 2)),
    constraint project_purge_ends_without_leftovers check (completed_at is null or objects_failed = 0)
  )`,
  `create index project_purge_is_listed_by_age on project_purge (organization_id, requested_at, id)`,
  `create index project_purge_goes_on on project_purge (moved_at) where completed_at is null`,
  ...protectTable('project_purge', 'organization'),
];

/**
 * Whoever writes in a project holds it, and whoever ends it excludes them: what began before is seen by the one who ends it, and what comes after finds
 * the end. The lock is no row's, because every request would write into that row. The second statement has a newer snapshot than the lock.
 */
const hold = `
create function hold_project() returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('openbot:project:' || tenant_organization() || tenant_project(), 0));
  if exists (select from project_purge p where p.organization_id = tenant_organization() and p.id = tenant_project()) then
    raise exception 'the project is being deleted' using errcode = 'OB001';
  end if;
end $$`;

/** Waits for everybody who writes in the project, and keeps the next ones until the end of the transaction. Before every row. */
const exclude = `
create function exclude_writers(p_project uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('openbot:project:' || tenant_organization() || p_project, 0))
$$`;

/**
 * Stops up to \`p_limit\` open works of a project in which nothing begins any more, whoever they act for: identities are revoked, then heads locked, each by
 * id, owned ones first, so that the caller holds neither. An unknown call would wait for a decision that nobody can make any more: it ends without
 * its result. Answers whom to wake, how many calls were settled, and whether work is open still.
 */
const stop = `
create function stop_project_work(p_project uuid, p_limit int, out o_touched uuid[], out o_settled int, out o_open boolean) language plpgsql set app.project = '' as $$
declare picked uuid[]; r record;
begin
  perform set_config('app.project', p_project::text, true);
  picked := array(select x.id from execution x where x.organization_id = tenant_organization() and x.project_id = p_project and x.ended_at is null
    and not exists (select from execution_signal s where s.execution_id = x.id and s.name = 'identity-revoked' and s.number = 1)
    order by x.owner is null, x.id limit p_limit);
  for r in select distinct x.identity_id::text as id from execution x where x.id = any (picked) and x.identity_id is not null order by 1 loop
    perform revoke_identity(r.id::uuid);
  end loop;
  o_touched := '{}';
  for r in select x.id from execution x where x.id = any (picked) and x.ended_at is null order by x.id for no key update loop
    perform send_signal(r.id, 'identity-revoked', 1, null), request_cancel(r.id);
    o_touched := o_touched || r.id;
  end loop;
  o_settled := 0;
  for r in select c.execution_id as id, c.step, c.name, c.attempt from execution x join execution_call c on c.execution_id = x.id
    where x.organization_id = tenant_organization() and x.project_id = p_project and x.state = 'outcome_unknown' and c.state = 'unknown' and c.decided is null
    order by c.execution_id, c.step, c.name limit p_limit
  loop
    if decide_call(r.id, r.step, r.name, r.attempt, 'stop', null) then
      o_settled := o_settled + 1;
      o_touched := o_touched || r.id;
    end if;
  end loop;
  o_open := exists (select from execution x where x.organization_id = tenant_organization() and x.project_id = p_project and x.ended_at is null);
end $$`;

const functions = ['hold_project()', 'exclude_writers(uuid)', 'stop_project_work(uuid, int)'];

/** How a project ends: nothing begins in it any more, and what goes on is stopped. */
export class ProjectPurges1764500000730 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`alter table project add column deleting_at timestamptz`);
    for (const sql of [...purge, hold, exclude, stop]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_app`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
    await q.query(`drop table project_purge`);
    await q.query(`alter table project drop column deleting_at`);
  }
}
