import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `purge_kept_rows` removes from the audit log as from every table, and asks first whether the project is being deleted. What this did without asking goes. */
const purgeAudit = `
create function purge_audit(p_organization uuid, p_project uuid, p_limit int) returns int language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare removed int; more int;
begin
  perform set_config('app.audit_purge', p_project::text, true);
  delete from audit_inbox i where i.number in (select y.number from audit_inbox y where y.organization_id = p_organization and y.chain_id = p_project order by y.number limit p_limit);
  get diagnostics removed = row_count;
  delete from audit_entry e where e.organization_id = p_organization and e.chain_id = p_project
    and e.sequence in (select y.sequence from audit_entry y where y.organization_id = p_organization and y.chain_id = p_project order by y.sequence limit p_limit - removed);
  get diagnostics more = row_count;
  removed := removed + more;
  if removed = 0 then
    delete from audit_head a where a.organization_id = p_organization and a.chain_id = p_project;
    get diagnostics removed = row_count;
  end if;
  perform set_config('app.audit_purge', '', true);
  return removed;
end $$`;

export class OneWayOfPurging1764500000732 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`drop function purge_audit(uuid, uuid, int)`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(purgeAudit);
    await q.query(`alter function purge_audit(uuid, uuid, int) owner to openbot_engine`);
    await q.query(`revoke all on function purge_audit(uuid, uuid, int) from public`);
    await q.query(`grant execute on function purge_audit(uuid, uuid, int) to openbot_worker`);
  }
}
