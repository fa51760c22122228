import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The operator has an error's id and not its organization. Whoever may act as the owner finds the sealed row; the keys open it. */
export class ErrorSearch1764500000220 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`create policy error_record_engine on error_record for select to openbot_engine using (true)`);
    await q.query(`grant select on error_record to openbot_engine`);
    await q.query(`
      create function find_error_record(p_id uuid) returns setof error_record language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
        select * from error_record where id = p_id
      $$`);
    await q.query(`alter function find_error_record(uuid) owner to openbot_engine`);
    await q.query(`revoke all on function find_error_record(uuid) from public`);
    await q.query(`grant execute on function find_error_record(uuid) to openbot_owner`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function find_error_record(uuid)`);
    await q.query(`revoke select on error_record from openbot_engine`);
    await q.query(`drop policy error_record_engine on error_record`);
  }
}
