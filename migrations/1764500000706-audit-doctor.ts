import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Entries of the audit log that nobody has given their place in their chain, although their transactions have long committed. */
const unlinked = `
create function doctor_unlinked(p_limit int, p_seconds double precision) returns table (found bigint, more boolean, oldest_seconds double precision)
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off as $$
begin
  return query select count(*) filter (where i.seconds > p_seconds), count(*) = p_limit, max(i.seconds)
    from (select extract(epoch from clock_timestamp() - y.at)::double precision as seconds from audit_inbox y order by y.number limit p_limit) i;
end $$`;

export class AuditDoctor1764500000706 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(unlinked);
    await q.query(`alter function doctor_unlinked(int, double precision) owner to openbot_engine`);
    await q.query(`revoke all on function doctor_unlinked(int, double precision) from public`);
    await q.query(`grant execute on function doctor_unlinked(int, double precision) to openbot_worker`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function doctor_unlinked(int, double precision)`);
  }
}
