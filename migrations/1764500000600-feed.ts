import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * Where the transactions of causes leave their product events. No row here has a position: a number that is taken before its commit would let a reader
 * pass by an event that comes later. `id` orders what one aggregate says, because its lock orders its writers; it orders nothing else.
 */
const inbox = `
create table product_event_inbox (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  project_id uuid not null,
  member_id uuid not null,
  type text not null,
  aggregate_id uuid not null,
  aggregate_sequence int not null,
  data jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)`;

/** How far each project's feed is numbered. Its row's lock makes two who number at the same time safe. */
const position = `
create table feed_position (
  organization_id uuid not null,
  project_id uuid not null,
  position bigint not null default 0,
  constraint feed_position_is_one_each primary key (organization_id, project_id),
  constraint feed_position_counts check (position >= 0)
) with (fillfactor = 70)`;

/** The feed as it is read: positions 1, 2, 3 of each project, in the order in which their commits were found. Nothing in it changes. */
const feed = `
create table product_event (
  organization_id uuid not null,
  project_id uuid not null,
  position bigint not null,
  member_id uuid not null,
  type text not null,
  aggregate_id uuid not null,
  aggregate_sequence int not null,
  data jsonb not null,
  created_at timestamptz not null,
  constraint product_event_has_place primary key (organization_id, project_id, position)
)`;

/**
 * Gives the committed rows of the inbox their positions, up to `p_limit` of them, oldest first. The counters are locked before the rows are looked at,
 * in a statement of its own: what is numbered next to it is seen, and a row is numbered by one. Rows that commit later are found by a later call.
 */
const sequence = `
create function sequence_feed(p_limit int) returns table (o_organization uuid, o_project uuid, o_position bigint, o_numbered int) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare organizations uuid[]; projects uuid[];
begin
  select array_agg(f.organization_id), array_agg(f.project_id) into organizations, projects from (
    select distinct x.organization_id, x.project_id from (select y.organization_id, y.project_id from product_event_inbox y order by y.id limit p_limit) x order by 1, 2) f;
  if projects is null then return; end if;
  insert into feed_position (organization_id, project_id) select * from unnest(organizations, projects) n(organization, project)
    where not exists (select 1 from feed_position f where f.organization_id = n.organization and f.project_id = n.project) on conflict do nothing;
  perform 1 from feed_position f where (f.organization_id, f.project_id) in (select * from unnest(organizations, projects)) order by f.organization_id, f.project_id for no key update;
  return query
  with found as materialized (
    select y.id from product_event_inbox y where (y.organization_id, y.project_id) in (select * from unnest(organizations, projects)) order by y.id limit p_limit),
  taken as (delete from product_event_inbox i using found where i.id = found.id returning i.*),
  numbered as (
    insert into product_event (organization_id, project_id, position, member_id, type, aggregate_id, aggregate_sequence, data, created_at)
    select t.organization_id, t.project_id, f.position + row_number() over (partition by t.organization_id, t.project_id order by t.id), t.member_id, t.type, t.aggregate_id, t.aggregate_sequence, t.data, t.created_at
    from taken t join feed_position f on f.organization_id = t.organization_id and f.project_id = t.project_id)
  update feed_position f set position = f.position + n.events
  from (select t.organization_id, t.project_id, count(*)::int as events from taken t group by 1, 2) n where f.organization_id = n.organization_id and f.project_id = n.project_id
  returning f.organization_id, f.project_id, f.position, n.events;
end $$`;

/** Pages of several feeds in one question, each under its own tenant's policies: as \`read_events\` reads logs. The id of a feed is its project's. */
const read = `
create function read_feed(p jsonb) returns setof product_event language plpgsql set app.organization = '' set app.project = '' as $$
declare t jsonb;
begin
  for t in select * from jsonb_array_elements(p) loop
    perform set_config('app.organization', t->>'organization', true), set_config('app.project', t->>'project', true);
    return query select e.* from product_event e where e.organization_id = (t->>'organization')::uuid and e.project_id = (t->>'id')::uuid and e.position > (t->>'after')::bigint
      order by e.position limit (t->>'limit')::int;
  end loop;
end $$`;

export class Feed1764500000600 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of [inbox, position, feed]) await q.query(table);
    await q.query(`create index product_event_member on product_event (organization_id, project_id, member_id, position)`);
    for (const table of ['product_event_inbox', 'feed_position', 'product_event']) {
      for (const sql of protectTable(table, 'project')) await q.query(sql);
      await q.query(`create policy ${table}_engine on ${table} to openbot_engine using (true) with check (true)`);
    }
    // Whoever causes an event leaves it in the inbox; only the sequencer writes what is read.
    await q.query(`revoke select, update, delete on product_event_inbox from openbot_app`);
    await q.query(`revoke insert, update, delete on feed_position, product_event from openbot_app`);
    await q.query(`grant select, delete on product_event_inbox to openbot_engine`);
    await q.query(`grant select, insert, update on feed_position to openbot_engine`);
    await q.query(`grant insert on product_event to openbot_engine`);

    for (const sql of [sequence, read]) await q.query(sql);
    await q.query(`alter function sequence_feed(int) owner to openbot_engine`);
    for (const name of ['sequence_feed(int)', 'read_feed(jsonb)']) await q.query(`revoke all on function ${name} from public`);
    await q.query(`grant execute on function sequence_feed(int) to openbot_worker`);
    await q.query(`grant execute on function read_feed(jsonb) to openbot_app`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function read_feed(jsonb)`);
    await q.query(`drop function sequence_feed(int)`);
    await q.query(`drop table product_event, feed_position, product_event_inbox`);
  }
}
