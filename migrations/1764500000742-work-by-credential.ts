import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The credential that the identity of work began with. Beside the sealed record, because whoever takes a credential away must find its work. */
const credential = `alter table sealed_record add column credential_id uuid`;

/** Whether the identity that work acts with, or what it is a child of acts with, was begun with one of these credentials. */
const begunWith = `
create function begun_with(p_id uuid, p_credentials uuid[]) returns boolean language sql stable as $$
  with recursive line as (
    select x.identity_id, x.parent_id from execution x where x.id = p_id
    union all
    select x.identity_id, x.parent_id from line l join execution x on x.id = l.parent_id where l.identity_id is null)
  select exists (select from line l join sealed_record s on s.id = l.identity_id where s.credential_id = any (p_credentials))
$$`;

/**
 * The open work in these projects of the transaction's organization, with what is below it: of \`p_members\` all, of \`p_others\` what was begun with one of
 * \`p_credentials\`. With \`p_lock\` its heads are locked.
 */
const openWorkOf = `
create function open_work_of(p_members uuid[], p_others uuid[], p_credentials uuid[], p_projects uuid[], p_lock boolean) returns table (o_id uuid, o_project uuid, o_identity uuid)
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare everybody uuid[] := p_members || p_others;
begin
  if p_lock then
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (everybody) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null)
        and (x.member_id = any (p_members) or begun_with(x.id, p_credentials))
      order by x.id for no key update;
  else
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (everybody) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null)
        and (x.member_id = any (p_members) or begun_with(x.id, p_credentials));
  end if;
end $$`;

/**
 * Takes from members the right to act in these projects, for all of their work that is open, and from others for what was begun with these credentials.
 * Members, identities and heads are locked in this order, each by id, so that the caller holds no head yet. Every identity is revoked, and every work
 * asked to stop and told why. Answers what was touched. What was admitted below that work while its heads were waited for makes it start anew.
 */
const revokeWorkOf = `
create function revoke_work_of(p_members uuid[], p_others uuid[], p_credentials uuid[], p_projects uuid[]) returns uuid[] language plpgsql set app.project = '' as $$
declare r record; revoked uuid[] := '{}'; held uuid[] := '{}'; works jsonb := '[]';
begin
  for r in select distinct m.id from unnest(p_members || p_others) m(id) order by 1 loop
    perform pg_advisory_xact_lock(hashtextextended('openbot:member:' || r.id, 0));
  end loop;
  for r in select distinct o.o_identity::text as id from open_work_of(p_members, p_others, p_credentials, p_projects, false) o where o.o_identity is not null order by 1 loop
    perform revoke_identity(r.id::uuid);
    revoked := revoked || r.id::uuid;
  end loop;
  for r in select * from open_work_of(p_members, p_others, p_credentials, p_projects, true) loop
    held := held || r.o_id;
    works := works || jsonb_build_object('id', r.o_id, 'project', r.o_project);
  end loop;
  if exists (select from open_work_of(p_members, p_others, p_credentials, p_projects, false) o where not o.o_id = any (held) or not coalesce(o.o_identity = any (revoked), true)) then
    raise exception 'work was admitted below work that is being stopped' using errcode = 'serialization_failure';
  end if;
  for r in select (w.v->>'id')::uuid as id, w.v->>'project' as project from jsonb_array_elements(works) w(v) loop
    perform set_config('app.project', r.project, true);
    perform send_signal(r.id, 'identity-revoked', 1, null);
    perform request_cancel(r.id);
  end loop;
  return held;
end $$`;

const openWork = 'open_work_of(uuid[], uuid[], uuid[], uuid[], boolean)';
const revokeWork = 'revoke_work_of(uuid[], uuid[], uuid[], uuid[])';
const begun = 'begun_with(uuid, uuid[])';

export class WorkByCredential1764500000742 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(credential);
    await q.query(`create policy sealed_record_engine on sealed_record for select to openbot_engine using (true)`);
    await q.query(`grant select (id, credential_id) on sealed_record to openbot_engine`);
    await q.query(`drop function revoke_work_of(uuid[], uuid[])`);
    await q.query(`drop function open_work_of(uuid[], uuid[], boolean)`);
    for (const sql of [begunWith, openWorkOf, revokeWorkOf]) await q.query(sql);
    await q.query(`alter function ${openWork} owner to openbot_engine`);
    for (const name of [begun, openWork, revokeWork]) await q.query(`revoke all on function ${name} from public`);
    await q.query(`grant execute on function ${begun} to openbot_engine`);
    for (const name of [openWork, revokeWork]) await q.query(`grant execute on function ${name} to openbot_app`);
  }

  /** Back to a version that stops more: what it does not know it stops with the member. */
  async down(): Promise<void> {
    throw new Error('what finds work by its credential is not taken back: restore a backup');
  }
}
