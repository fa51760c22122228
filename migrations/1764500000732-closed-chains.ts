import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A chain is closed for a project that is being deleted alone: said of another, the organization's chain would tell of an end that never was. */
const close = (look: string): string => `
create or replace function close_audit_chain(p_organization uuid, p_project uuid) returns table (o_length bigint, o_hash bytea) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare h audit_head;
begin${look}
  while link_audit_chain(p_organization, p_project, 1000) > 0 loop end loop;
  select * into h from audit_head a where a.organization_id = p_organization and a.chain_id = p_project;
  insert into audit_inbox (organization_id, id, action, outcome, actor_kind, service, target_kind, target_id, detail)
    values (p_organization, overlay(overlay(md5('project.purged:' || p_project) placing '8' from 13) placing 'a' from 17)::uuid, 'project.purged', 'done', 'service', 'purge', 'project', p_project,
      jsonb_build_object('length', h.length, 'hash', encode(h.hash, 'hex')));
  return query select h.length, h.hash;
end $$`;

const ifDeleted = `
  if not exists (select from project_purge p where p.organization_id = p_organization and p.id = p_project and p.completed_at is null) then
    raise exception 'this project is not being deleted' using errcode = 'insufficient_privilege';
  end if;`;

export class ClosedChains1764500000732 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(close(ifDeleted));
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(close(''));
  }
}
