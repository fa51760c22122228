import type { Client } from 'pg';
import { Violation } from './violation.js';

/**
 * What holds of shared limits in every committed picture. Tokens that wait for their instant, and those that a call gave back, have not gone out: with
 * them a bucket is never below empty.
 */
const picture = `
select (select string_agg(h.limit_name, ', ') from (
    select p.limit_name from permit p join call_limit l on l.organization_id = p.organization_id and l.name = p.limit_name
    where p.organization_id = any ($1) and p.state = 'held' group by p.organization_id, p.limit_name, l.size having count(*) > l.size) h) as crowded,
  (select string_agg(b.name || ' at ' || b.level, ', ') from (
    select t.name, least(t.capacity, t.level + greatest(0, extract(epoch from clock_timestamp() - t.as_of)) * t.refill_per_second)
      + coalesce((select sum(case when r.used is not null then r.amount - r.used else r.amount end) from token_reservation r join execution_call c using (execution_id, step, name, attempt)
          where r.organization_id = t.organization_id and r.bucket = t.name and (r.used is not null or c.state = 'intent')), 0) as level
    from token_bucket t where t.organization_id = any ($1)) b where b.level < -0.001) as overdrawn`;

export async function checkLimits(observer: Client, organizations: readonly string[]): Promise<void> {
  const { rows } = await observer.query<{ crowded: string | null; overdrawn: string | null }>({ name: 'limits', text: picture, values: [organizations] });
  if (rows[0]?.crowded) throw new Violation('no more places than a limit has', rows[0].crowded);
  if (rows[0]?.overdrawn) throw new Violation('no tokens that are not there', rows[0].overdrawn);
}

/** Places that nobody will ever give back: their work has ended, and no instant frees them. */
const kept = `select p.execution_id, p.step, p.state from permit p join execution x on x.id = p.execution_id
  where p.organization_id = any ($1) and x.ended_at is not null and p.state <> 'freed' and p.expires_at is null`;

export async function checkPlaces(observer: Client, organizations: readonly string[]): Promise<void> {
  const { rows } = await observer.query(kept, [organizations]);
  if (rows.length > 0) throw new Violation('every place is given back', JSON.stringify(rows));
}
