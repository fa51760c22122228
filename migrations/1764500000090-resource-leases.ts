import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * A physical thing that one node holds for one owner's claim. The row is there before the thing is, and says `closed` only after it is gone: until then
 * nobody else may open it. No node is asked about another's things, and one that is missing proves nothing. `process` is the life of the node's process
 * that opened it: a node takes new epochs in one life, and its name outlives it. `released_by` is the person who said that the thing is gone.
 */
const table = `
create table resource_lease (
  id uuid primary key,
  organization_id uuid not null,
  project_id uuid not null,
  kind text not null,
  resource text not null,
  execution_id uuid not null,
  owner text not null,
  epoch bigint not null,
  process uuid,
  generation int not null,
  state text not null default 'open',
  error_id uuid,
  opened_at timestamptz not null default clock_timestamp(),
  closing_at timestamptz,
  closed_at timestamptz,
  released_by text,
  constraint resource_lease_state_known check (state = any ('{open,closing,closed,close_failed,unknown}')),
  constraint resource_lease_close_is_marked check ((closed_at is not null) = (state = 'closed')),
  constraint resource_lease_release_closes check (released_by is null or state = 'closed')
)`;

/**
 * Registers a lease before its thing is opened. The head is locked: a claim that came before refuses it, and one that comes after finds the row. Asked
 * again with the same id after a lost answer, it finds its own row.
 */
const open = `
create function open_lease(p_organization uuid, p_project uuid, p jsonb) returns jsonb language plpgsql set app.organization = '' set app.project = '' as $$
declare h execution; l resource_lease;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = (p->>'execution')::uuid for no key update;
  if not coalesce(h.claim_id = (p->>'claim')::uuid and h.generation = (p->>'generation')::int and h.state = 'running' and h.cancel_number = (p->>'cancel')::int, false) then
    return '{"outcome": "refused"}';
  end if;
  loop
    insert into resource_lease as n (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, process, generation)
      values ((p->>'id')::uuid, h.organization_id, h.project_id, p->>'kind', p->>'resource', h.id, h.owner, h.epoch, (p->>'process')::uuid, h.generation) on conflict do nothing;
    if found then return '{"outcome": "registered"}'; end if;
    select * into l from resource_lease y
      where y.organization_id = h.organization_id and y.project_id = h.project_id and y.kind = p->>'kind' and y.resource = p->>'resource' and y.closed_at is null;
    if l.id = (p->>'id')::uuid then return '{"outcome": "registered"}'; end if;
    if l.id is not null then
      return jsonb_build_object('outcome', 'held', 'lease', l.id, 'state', l.state, 'executionId', l.execution_id, 'node', l.owner, 'epoch', l.epoch::text,
        'left', l.state = 'unknown' or exists (select 1 from execution x where x.id = l.execution_id and x.generation > l.generation));
    end if;
  end loop;
end $$`;

/** What its owner says of a lease, also one that owns the work no more. One that was proved released meanwhile stays closed. Answers the state. */
const move = `
create function move_lease(p_organization uuid, p_project uuid, p_id uuid, p_state text, p_error uuid) returns text language plpgsql set app.organization = '' set app.project = '' as $$
declare stored text;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  update resource_lease l set state = p_state, error_id = coalesce(l.error_id, p_error), closing_at = case when p_state = 'closing' then clock_timestamp() else l.closing_at end,
    closed_at = case when p_state = 'closed' then clock_timestamp() end where l.id = p_id and l.closed_at is null;
  select l.state into stored from resource_lease l where l.id = p_id;
  return stored;
end $$`;

/** The driver has proved that a lease of an owner that went is released. Generations only grow: what is left now is left for good. */
const prove = `
create function prove_lease_released(p_organization uuid, p_project uuid, p_id uuid) returns void language plpgsql set app.organization = '' set app.project = '' as $$
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  update resource_lease l set state = 'closed', closed_at = clock_timestamp() where l.id = p_id and l.closed_at is null
    and (l.state = 'unknown' or exists (select 1 from execution x where x.id = l.execution_id and x.generation > l.generation));
end $$`;

/** What earlier owners of the work left behind: whether it is still there, nobody knows. Runs under the tenant's policies. */
const leave = `
create function lose_leases(p_id uuid, p_generation int) returns void language plpgsql as $$
begin
  with lost as materialized (select l.id from resource_lease l where l.execution_id = p_id and l.closed_at is null and l.generation < p_generation and l.state <> 'unknown' order by l.id for no key update)
  update resource_lease l set state = 'unknown' from lost where l.id = lost.id and l.closed_at is null;
end $$`;

/** Whether the process that opened the thing lives, as far as the database can see: it may close it yet, and nobody else's word counts. */
const holderLives = `
create function lease_holder_lives(p_owner text, p_process uuid) returns boolean language plpgsql stable as $$
begin
  return node_lives(p_owner) and coalesce((select n.process = p_process from node n where n.name = p_owner), true);
end $$`;

/** A lease of any tenant, for the operator who was given its id. */
const find = `
create function find_lease(p_id uuid) returns table (id uuid, organization_id uuid, project_id uuid, kind text, resource text, execution_id uuid, owner text, state text, error_id uuid,
  opened_at timestamptz, closing_at timestamptz, closed_at timestamptz, released_by text, holder_lives boolean) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query select l.id, l.organization_id, l.project_id, l.kind, l.resource, l.execution_id, l.owner, l.state, l.error_id, l.opened_at, l.closing_at, l.closed_at, l.released_by,
    l.closed_at is null and lease_holder_lives(l.owner, l.process) from resource_lease l where l.id = p_id;
end $$`;

/**
 * A person has looked and says that the thing is gone. Asked again it finds its own answer. The row is locked before its holder is looked for, so that what
 * a holder says in between counts: \`held\` while it lives, \`closed\` when the lease was closed by somebody else.
 */
const release = `
create function release_lease(p_organization uuid, p_project uuid, p_id uuid, p_by text) returns text language plpgsql set app.organization = '' set app.project = '' as $$
declare l resource_lease;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into l from resource_lease y where y.id = p_id for no key update;
  if not found then return 'gone'; end if;
  if l.closed_at is not null then return case when l.released_by = p_by then 'released' else 'closed' end; end if;
  if lease_holder_lives(l.owner, l.process) then return 'held'; end if;
  update resource_lease y set state = 'closed', closed_at = clock_timestamp(), released_by = p_by where y.id = p_id;
  return 'released';
end $$`;

const functions = [
  'open_lease(uuid, uuid, jsonb)',
  'move_lease(uuid, uuid, uuid, text, uuid)',
  'prove_lease_released(uuid, uuid, uuid)',
  'lose_leases(uuid, int)',
  'lease_holder_lives(text, uuid)',
  'find_lease(uuid)',
  'release_lease(uuid, uuid, uuid, text)',
];

export class ResourceLeases1764500000090 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(table);
    await q.query(`create unique index resource_lease_held on resource_lease (organization_id, project_id, kind, resource) where closed_at is null`);
    await q.query(`create index resource_lease_of_work on resource_lease (execution_id) where closed_at is null`);
    for (const sql of protectTable('resource_lease', 'project')) await q.query(sql);
    for (const sql of [open, move, prove, leave, holderLives, find, release]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
    await q.query(`alter function find_lease(uuid) owner to openbot_engine`);
    await q.query(`grant execute on function lease_holder_lives(text, uuid) to openbot_engine`);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
    await q.query(`drop table resource_lease`);
  }
}
