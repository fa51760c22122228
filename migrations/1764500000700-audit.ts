import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * Who did what to what. The chain of an entry is its project's, or its organization's where it has none. Ids, names of the catalogue, numbers and
 * flags alone: what was said or sent is in no column. Times are whole milliseconds, so that every reader hashes the same number.
 */
const columns = `
  organization_id uuid not null,
  project_id uuid,
  chain_id uuid generated always as (coalesce(project_id, organization_id)) stored,
  id uuid not null,
  at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  action text not null,
  outcome text not null,
  actor_kind text not null,
  member_id uuid,
  credential_kind text,
  credential_id uuid,
  on_behalf_of uuid,
  service text,
  target_kind text,
  target_id uuid,
  address text,
  detail jsonb not null default '{}'`;

const rules = (table: string): string => `
  constraint ${table}_belongs_to_organization foreign key (organization_id) references organization,
  constraint ${table}_is_in_project foreign key (organization_id, project_id) references project,
  constraint ${table}_outcome_is_known check (outcome in ('done', 'refused')),
  constraint ${table}_actor_is_whole check (case actor_kind when 'member' then member_id is not null and service is null when 'service' then service is not null and member_id is null
    when 'operator' then num_nonnulls(member_id, service) = 0 when 'nobody' then num_nonnulls(member_id, service) = 0 else false end),
  constraint ${table}_credential_is_whole check (num_nulls(credential_kind, credential_id) in (0, 2)),
  constraint ${table}_target_is_whole check (num_nulls(target_kind, target_id) in (0, 2)),
  constraint ${table}_detail_is_scalars check (jsonb_typeof(detail) = 'object' and not jsonb_path_exists(detail, '$.* ? (@.type() == "object" || @.type() == "array")')),
  constraint ${table}_texts_are_short check (octet_length(concat_ws('', action, credential_kind, service, target_kind, address)) <= 400 and octet_length(detail::text) <= 4000)`;

/**
 * Where the transactions of causes leave their entries: there with their change, gone with its rollback. No row here has a place in a chain, so that
 * writers wait for nobody. \`number\` orders what is linked together, and nothing else.
 */
const inbox = `create table audit_inbox (number bigint generated always as identity primary key,${columns},${rules('audit_inbox')}
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)`;

/** Where each chain ends. Its row's lock makes two who link at the same time safe. */
const head = `create table audit_head (
  organization_id uuid not null,
  project_id uuid,
  chain_id uuid generated always as (coalesce(project_id, organization_id)) stored,
  length bigint not null default 0,
  hash bytea not null default decode(repeat('00', 32), 'hex'),
  constraint audit_head_is_one_each primary key (organization_id, chain_id),
  constraint audit_head_is_in_project foreign key (organization_id, project_id) references project,
  constraint audit_head_counts check (length >= 0),
  constraint audit_head_hash_is_sha256 check (octet_length(hash) = 32)
) with (fillfactor = 70)`;

/** The chains as they are read: 1, 2, 3 of each, every entry hashed together with the hash before it. */
const entry = `create table audit_entry (${columns},
  sequence bigint not null,
  hash bytea not null,
  constraint audit_entry_has_place primary key (organization_id, chain_id, sequence),
  constraint audit_entry_is_there_once unique (organization_id, id),
  constraint audit_entry_hash_is_sha256 check (octet_length(hash) = 32),${rules('audit_entry')}
)`;

/** What is hashed of an entry: one text for one content. \`libs/domain/src/audit/canonical.ts\` writes the same; 1 is the version of this form. */
const text = `
create function audit_text(x audit_inbox, p_sequence bigint) returns text language sql immutable parallel safe as $$
  select jsonb_build_array(1, x.organization_id, x.project_id, p_sequence, x.id, (extract(epoch from x.at) * 1000)::bigint, x.action, x.outcome, x.actor_kind, x.member_id,
    x.credential_kind, x.credential_id, x.on_behalf_of, x.service, x.target_kind, x.target_id, x.address,
    (select coalesce(jsonb_agg(jsonb_build_array(d.key, d.value) order by d.key collate "C"), '[]') from jsonb_each(x.detail) d))::text
$$`;

/**
 * Moves committed entries of one chain from the inbox to its end, up to \`p_limit\` of them. The head is locked before the inbox is looked at, in a
 * statement of its own: what was linked meanwhile is seen as linked. An entry that is there already (told again by a replay) is dropped.
 */
const linkChain = `
create function link_audit_chain(p_organization uuid, p_project uuid, p_limit int) returns int language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare h audit_head; x audit_inbox; found int := 0; chain uuid := coalesce(p_project, p_organization);
begin
  insert into audit_head (organization_id, project_id) values (p_organization, p_project) on conflict do nothing;
  select * into h from audit_head a where a.organization_id = p_organization and a.chain_id = chain for no key update;
  for x in
    with oldest as materialized (
      select i.number from audit_inbox i where i.organization_id = p_organization and i.chain_id = chain order by i.number limit p_limit),
    taken as (delete from audit_inbox i using oldest o where i.number = o.number returning i.*)
    select * from taken t order by t.number
  loop
    found := found + 1;
    continue when exists (select from audit_entry e where e.organization_id = x.organization_id and e.id = x.id);
    h.length := h.length + 1;
    h.hash := sha256(h.hash || convert_to(audit_text(x, h.length), 'UTF8'));
    insert into audit_entry (organization_id, project_id, id, at, action, outcome, actor_kind, member_id, credential_kind, credential_id, on_behalf_of, service,
        target_kind, target_id, address, detail, sequence, hash)
      values (x.organization_id, x.project_id, x.id, x.at, x.action, x.outcome, x.actor_kind, x.member_id, x.credential_kind, x.credential_id, x.on_behalf_of, x.service,
        x.target_kind, x.target_id, x.address, x.detail, h.length, h.hash);
  end loop;
  update audit_head a set length = h.length, hash = h.hash where a.organization_id = p_organization and a.chain_id = chain and a.length < h.length;
  return found;
end $$`;

/** Links what waits, oldest first, and answers how many were looked at. Chains in one order, so that two who link wait for each other in no ring. */
const link = `
create function link_audit(p_limit int) returns int language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare c record; found int := 0;
begin
  for c in select distinct o.organization_id, o.chain_id, o.project_id from (select * from audit_inbox i order by i.number limit p_limit) o order by 1, 2 loop
    found := found + link_audit_chain(c.organization_id, c.project_id, p_limit);
  end loop;
  return found;
end $$`;

/**
 * The last word on a project's chain before it is purged: links what waits, and tells the organization's chain how long it was and how it ended. Said
 * again, it is there once.
 */
const close = `
create function close_audit_chain(p_organization uuid, p_project uuid) returns table (o_length bigint, o_hash bytea) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare h audit_head;
begin
  while link_audit_chain(p_organization, p_project, 1000) > 0 loop end loop;
  select * into h from audit_head a where a.organization_id = p_organization and a.chain_id = p_project;
  insert into audit_inbox (organization_id, id, action, outcome, actor_kind, service, target_kind, target_id, detail)
    values (p_organization, overlay(overlay(md5('project.purged:' || p_project) placing '8' from 13) placing 'a' from 17)::uuid, 'project.purged', 'done', 'service', 'purge', 'project', p_project,
      jsonb_build_object('length', h.length, 'hash', encode(h.hash, 'hex')));
  return query select h.length, h.hash;
end $$`;

/** Binds every role, the owner of the tables too: a linked entry stays as it is, until its project is purged. */
const keep = `
create function keep_audit() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'DELETE' and current_user = 'openbot_engine' then
    if current_setting('app.audit_purge', true) = old.project_id::text then return old; end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$`;

const internal = ['audit_text(audit_inbox, bigint)', 'link_audit_chain(uuid, uuid, int)'];
const forWorker = ['link_audit(int)', 'close_audit_chain(uuid, uuid)'];

export class Audit1764500000700 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of [inbox, head, entry]) await q.query(table);
    await q.query(`create index audit_inbox_is_linked_by_chain on audit_inbox (organization_id, chain_id, number)`);
    await q.query(`create index audit_entry_is_found_by_member on audit_entry (organization_id, chain_id, member_id, sequence) where member_id is not null`);
    await q.query(`create index audit_entry_is_found_by_target on audit_entry (organization_id, chain_id, target_id, sequence) where target_id is not null`);
    for (const table of ['audit_inbox', 'audit_head', 'audit_entry']) {
      for (const sql of protectTable(table, 'organization')) await q.query(sql);
      await q.query(`revoke insert, update, delete on ${table} from openbot_app`);
      await q.query(`create policy ${table}_engine on ${table} to openbot_engine using (true) with check (true)`);
    }
    // Whoever causes an entry leaves it in the inbox; only who links writes what is read.
    await q.query(`grant insert on audit_inbox to openbot_app`);
    await q.query(`grant select, insert, delete on audit_inbox, audit_entry to openbot_engine`);
    await q.query(`grant select, insert, update, delete on audit_head to openbot_engine`);

    for (const sql of [text, linkChain, link, close, keep]) await q.query(sql);
    await q.query(`create trigger audit_entry_stays before update or delete on audit_entry for each row execute function keep_audit()`);
    await q.query(`create trigger audit_entry_is_not_emptied before truncate on audit_entry for each statement execute function keep_audit()`);
    for (const name of [...internal, ...forWorker]) await q.query(`alter function ${name} owner to openbot_engine`);
    for (const name of [...internal, ...forWorker, 'keep_audit()']) await q.query(`revoke all on function ${name} from public`);
    for (const name of forWorker) await q.query(`grant execute on function ${name} to openbot_worker`);
    await q.query(`grant execute on function audit_text(audit_inbox, bigint) to openbot_owner`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of ['close_audit_chain(uuid, uuid)', 'link_audit(int)', 'link_audit_chain(uuid, uuid, int)']) await q.query(`drop function ${name}`);
    await q.query(`drop function audit_text(audit_inbox, bigint)`);
    await q.query(`drop table audit_entry, audit_head, audit_inbox`);
    await q.query(`drop function keep_audit()`);
  }
}
