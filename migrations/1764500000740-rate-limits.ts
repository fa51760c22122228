import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One row for each bucket that is not full: a full one and an absent one are the same. Named by a MAC, because what it limits may be an address, or
 * somebody whom nobody knows yet; so it belongs to no organization, and only the function below touches it. In microseconds of the epoch, and whole,
 * so that no rounding ever gives a token that was not there.
 */
const table = [
  `create table rate_bucket (
    bucket bytea not null constraint rate_bucket_is_named_by_a_mac check (octet_length(bucket) = 32),
    full_at bigint not null,
    constraint rate_bucket_is_one_each primary key (bucket)
  ) with (fillfactor = 50)`,
  `create index rate_bucket_full on rate_bucket (full_at)`,
  `grant select, insert, update, delete on rate_bucket to openbot_engine`,
];

/**
 * Takes \`p_cost\` tokens or none, and with them up to \`p_ahead\` more that whoever asks may use within \`p_ahead_ms\`. A bucket holds \`p_limit\` and gets one
 * back every \`gap\` (GCRA: it is kept as the instant at which it is full). Tokens for later are taken as if at the last instant of their use: whenever they
 * are used until then, no more went out at any moment than a bucket without them had let out.
 *
 * A token that is lost with a crash is worth no wait for the disk, so the transaction does not wait: call it in one of its own.
 */
const takeFromBucket = `
create function take_from_bucket(p_bucket bytea, p_limit int, p_window_ms int, p_cost int, p_ahead int, p_ahead_ms int)
  returns table (granted int, remaining int, reset_ms int, retry_after_ms int) language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  gap bigint := ceil(p_window_ms * 1000.0 / p_limit);
  depth bigint := gap * p_limit;
  held bigint; at bigint; later bigint; spare bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  loop
    select b.full_at into held from rate_bucket b where b.bucket = p_bucket for no key update;
    exit when found;
    insert into rate_bucket (bucket, full_at) values (p_bucket, 0) on conflict do nothing;
    -- Rows come by this alone, so that two that are full again go with each that comes keep the table small.
    delete from rate_bucket b where b.bucket in (select f.bucket from rate_bucket f where f.full_at < (extract(epoch from clock_timestamp()) * 1000000)::bigint and f.bucket <> p_bucket
      order by f.full_at limit 2 for update skip locked);
  end loop;
  -- After the lock: those who wait for it are served by the clock of their turn. A clock that was set back locks nobody out for longer than a window.
  at := extract(epoch from clock_timestamp()) * 1000000;
  held := least(greatest(held, at), at + depth);
  later := greatest(held, at + p_ahead_ms * 1000::bigint);
  spare := least(p_ahead, (at + depth - later) / gap - p_cost);
  if spare > 0 then
    granted := p_cost + spare;
    held := later + granted * gap;
  elsif held + p_cost * gap <= at + depth then
    granted := p_cost;
    held := held + granted * gap;
  else
    granted := 0;
  end if;
  if granted > 0 then update rate_bucket b set full_at = held where b.bucket = p_bucket; end if;
  remaining := (at + depth - held) / gap;
  reset_ms := ceil((held - at) / 1000.0);
  retry_after_ms := case when granted > 0 then 0 else ceil((held + p_cost * gap - at - depth) / 1000.0) end;
  return next;
end $$`;

export class RateLimits1764500000740 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...table, takeFromBucket]) await q.query(sql);
    await q.query(`alter function take_from_bucket(bytea, int, int, int, int, int) owner to openbot_engine`);
    await q.query(`revoke all on function take_from_bucket(bytea, int, int, int, int, int) from public`);
    await q.query(`grant execute on function take_from_bucket(bytea, int, int, int, int, int) to openbot_app`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function take_from_bucket(bytea, int, int, int, int, int)`);
    await q.query(`drop table rate_bucket`);
  }
}
