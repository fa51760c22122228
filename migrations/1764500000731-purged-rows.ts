import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the engine's tables refer to, where a foreign key would be a lock that its order does not know: a purge follows these as it follows foreign keys. */
const references = {
  'permit.execution_id': 'execution (id)',
  'token_reservation.execution_id': 'execution (id)',
  'identity_revocation.identity_id': 'sealed_record (id)',
};

/**
 * Removes the transaction's project's rows from some pages of a table from which no login deletes. The policies of the engine are as wide as its work: what
 * confines this to one project is the comparison, and what confines it to an ended one is the look before.
 */
const removeKept = `
create function purge_kept_rows(p_table text, p_from bigint, p_to bigint) returns bigint language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare removed bigint;
begin
  if not exists (select from project_purge p where p.organization_id = tenant_organization() and p.id = tenant_project() and p.completed_at is null) then
    raise exception 'this project is not being deleted' using errcode = 'insufficient_privilege';
  end if;
  -- What the audit log asks of whoever removes from it.
  perform set_config('app.audit_purge', tenant_project()::text, true);
  execute format('delete from public.%I where ctid >= $1 and ctid < $2 and organization_id = tenant_organization() and project_id = tenant_project()', p_table)
    using format('(%s,0)', p_from)::tid, format('(%s,0)', p_to)::tid;
  get diagnostics removed = row_count;
  perform set_config('app.audit_purge', '', true);
  return removed;
end $$`;

/** Purges that need a person: objects that could not be removed, or no step for a while. */
const doctor = `
create function doctor_purges(p_limit int, p_seconds double precision) returns table (found bigint, examples uuid[], more boolean, oldest_seconds double precision) language plpgsql stable
  security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query
  with open as (select p.id, p.state, p.requested_at, p.moved_at from project_purge p where p.completed_at is null order by p.moved_at limit p_limit)
  select count(*), (array_agg(o.id order by o.requested_at))[1:5], (select count(*) = p_limit from open), extract(epoch from clock_timestamp() - min(o.requested_at))::double precision
    from open o where o.state = 'leftovers' or o.moved_at < clock_timestamp() - make_interval(secs => p_seconds);
end $$`;

const functions = ['purge_kept_rows(text, bigint, bigint)', 'doctor_purges(int, double precision)'];

export class PurgedRows1764500000731 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const [column, target] of Object.entries(references)) await q.query(`comment on column ${column} is 'references ${target}'`);
    // A receipt goes with the project that its command was for.
    await q.query(`alter table execution_command add column project_id uuid default tenant_project()`);
    // Every removed chat asks for its turns: an index of some of them is none for that question.
    await q.query(`drop index chat_turn_is_numbered`);
    await q.query(`create unique index chat_turn_is_numbered on chat_turn (chat_id, number)`);

    await q.query(`create policy project_purge_engine on project_purge for select to openbot_engine using (true)`);
    await q.query(`grant select (organization_id, id, state, requested_at, moved_at, completed_at) on project_purge to openbot_engine`);
    await q.query(`grant select, delete on feed_position, product_event to openbot_engine`);
    await q.query(`grant delete on error_record to openbot_engine`);
    await q.query(`create policy error_record_purge on error_record for delete to openbot_engine using (true)`);
    for (const sql of [removeKept, doctor]) await q.query(sql);
    for (const name of functions) {
      await q.query(`alter function ${name} owner to openbot_engine`);
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
    await q.query(`drop policy error_record_purge on error_record`);
    await q.query(`revoke delete on error_record from openbot_engine`);
    await q.query(`revoke select, delete on product_event from openbot_engine`);
    await q.query(`revoke delete on feed_position from openbot_engine`);
    await q.query(`revoke select (organization_id, id, state, requested_at, moved_at, completed_at) on project_purge from openbot_engine`);
    await q.query(`drop policy project_purge_engine on project_purge`);
    await q.query(`drop index chat_turn_is_numbered`);
    await q.query(`create unique index chat_turn_is_numbered on chat_turn (chat_id, number) where number is not null`);
    await q.query(`alter table execution_command drop column project_id`);
    for (const column of Object.keys(references)) await q.query(`comment on column ${column} is null`);
  }
}
