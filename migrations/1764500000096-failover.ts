import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which history of which database this is: it changes with every promotion of a standby, in the moment in which the first write is possible. The
 * control file names the timeline of the last checkpoint, which comes later. Null: nobody can tell here (a standby, or a service that hides it).
 */
const timeline = `
create function database_timeline() returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if pg_is_in_recovery() then return null; end if;
  return (pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state then return null;
end $$`;

/**
 * Whether a commit of this session is acknowledged only when a standby has it. \`synchronous\`: how many standbys are waited for now; null where the
 * function's owner may not see it (it needs pg_read_all_stats). What decides is visible to everybody.
 */
const replication = `
create function replication_status(out status text, out standbys int, out synchronous int) language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare waits boolean := current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> all ('{off,local}');
begin
  select count(*), case when not coalesce(bool_or(r.sync_state is null), false) then count(*) filter (where r.sync_state = any ('{sync,quorum}')) end
    into standbys, synchronous from pg_stat_replication r where r.state is null or r.state = any ('{streaming,catchup}');
  status := case when waits then 'ok' when standbys > 0 then 'asynchronous' else 'single' end;
end $$`;

const grants = { 'database_timeline()': 'openbot_app, openbot_worker', 'replication_status()': 'openbot_worker, openbot_owner' } as const;

export class Failover1764500000096 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [timeline, replication]) await q.query(sql);
    for (const [name, roles] of Object.entries(grants)) {
      await q.query(`alter function ${name} owner to openbot_engine`);
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to ${roles}`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of Object.keys(grants)) await q.query(`drop function ${name}`);
  }
}
