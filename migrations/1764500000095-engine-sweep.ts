import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What every node looks at once a second, in one statement: owners of work and the beats of nodes, and whether there is something to number or to serve. Its
 * parts are of one snapshot: a node that claims was in the list of nodes before, so that one which has just come is never taken for one that has gone.
 */
const lookAround = `
create function look_around() returns table (owners jsonb, nodes jsonb, events boolean, places boolean) language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query select
    (select coalesce(jsonb_agg(jsonb_build_object('owner', o.owner, 'epoch', o.epoch::text)), '[]') from list_owners() o),
    (select coalesce(jsonb_agg(jsonb_build_object('name', n.name, 'epoch', n.epoch::text, 'beat', n.beat::text)), '[]') from node n),
    exists (select 1 from product_event_inbox),
    exists (select 1 from permit p where p.state = 'freed') or exists (select 1 from permit p where p.state = 'held' and not p.woken)
      or exists (select 1 from permit p where p.expires_at <= clock_timestamp() and p.state = 'held');
end $$`;

export class EngineSweep1764500000095 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(lookAround);
    await q.query(`alter function look_around() owner to openbot_engine`);
    await q.query(`revoke all on function look_around() from public`);
    await q.query(`grant execute on function look_around() to openbot_worker`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function look_around()`);
  }
}
