import { createHmac } from 'node:crypto';
import { Pool } from 'pg';
import { bucketOf, takeAhead, takeFrom, type Policy } from '@platform/limits/take-from.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { rowsOf } from '@test/support/engine.js';

const minute = 60_000;
const key = { mac: (text: string) => createHmac('sha256', 'test').update(text).digest() };

let database: TestDatabase;
let superuser: Pool;
let buckets = 0;
const fresh = (): Buffer => bucketOf(key, 'test', String((buckets += 1)));
/** As if that much time had passed for the bucket. */
const pass = (bucket: Buffer, ms: number): Promise<unknown> => superuser.query(`update rate_bucket set full_at = full_at - $2::bigint * 1000 where bucket = $1`, [bucket, ms]);

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await superuser.end();
  await database.close();
});

test('a bucket gives what it holds, says when the next is there, and fills up evenly', async () => {
  const bucket = fresh();
  const policy: Policy = { limit: 3, windowMs: minute };
  const take = () => takeFrom(database.api, { bucket, policy });
  const answers = [await take(), await take(), await take(), await take()];
  expect(answers.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
  ]);
  expect(answers[3]!.retryAfterMs).toBeGreaterThan(10_000);
  expect(answers[3]!.retryAfterMs).toBeLessThanOrEqual(20_000);
  expect(answers[3]!.resetMs).toBeGreaterThan(40_000);

  await pass(bucket, 20_000);
  expect(await take()).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
  expect(await take()).toMatchObject({ allowed: false });
  // It holds no more than its limit, however long nobody comes.
  await pass(bucket, minute * 60);
  expect(await take()).toMatchObject({ allowed: true, remaining: 2 });
});

test('a take of several is all of them or none', async () => {
  const bucket = fresh();
  const policy: Policy = { limit: 5, windowMs: minute };
  expect(await takeFrom(database.api, { bucket, policy, cost: 4 })).toMatchObject({ allowed: true, remaining: 1 });
  expect(await takeFrom(database.api, { bucket, policy, cost: 2 })).toMatchObject({ allowed: false, remaining: 1 });
  expect(await takeFrom(database.api, { bucket, policy })).toMatchObject({ allowed: true, remaining: 0 });
  await expect(takeFrom(database.api, { bucket, policy, cost: 6 })).rejects.toThrow(RangeError);
});

test('of many that come to one bucket at once, with either login, as many pass as it holds', async () => {
  const bucket = fresh();
  const policy: Policy = { limit: 17, windowMs: 600_000 };
  const takes = await Promise.all(Array.from({ length: 120 }, (_, n) => takeFrom(n % 2 ? database.api : database.worker, { bucket, policy })));
  expect(takes.filter(({ allowed }) => allowed)).toHaveLength(17);
});

test('buckets know nothing of each other', async () => {
  const policy: Policy = { limit: 1, windowMs: minute };
  const names = [bucketOf(key, 'a', 'b', 'c'), bucketOf(key, 'a', 'b\nc'), bucketOf(key, 'a', 'bc'), bucketOf(key, 'b', 'a', 'c')];
  for (const bucket of names) expect((await takeFrom(database.api, { bucket, policy })).allowed).toBe(true);
});

test('a limit that was lowered counts from now on, and locks nobody out for longer than its window', async () => {
  const bucket = fresh();
  for (let n = 0; n < 10; n += 1) await takeFrom(database.api, { bucket, policy: { limit: 10, windowMs: 3_600_000 } });
  const { allowed, retryAfterMs } = await takeFrom(database.api, { bucket, policy: { limit: 2, windowMs: 10_000 } });
  expect([allowed, retryAfterMs <= 5_000]).toEqual([false, true]);
});

test('tokens for later come where there are enough, and the last one is given to whoever needs it now', async () => {
  const policy: Policy = { limit: 10, windowMs: minute };
  const ahead = (bucket: Buffer) => takeAhead(database.api, { bucket, policy, cost: 1, ahead: 6, aheadMs: 1_000 });
  const bucket = fresh();
  expect(await ahead(bucket)).toMatchObject({ granted: 7, remaining: 2 });
  expect(await ahead(bucket)).toMatchObject({ granted: 2, remaining: 0 });
  expect(await ahead(bucket)).toMatchObject({ granted: 0 });
  await pass(bucket, 6_000);
  expect(await ahead(bucket)).toMatchObject({ granted: 1, remaining: 0 });
});

/** What one bucket that everybody asks would have let pass at these moments, in ms: `null`, or the first that it would have refused. */
function firstRefused(uses: readonly number[], { limit, windowMs }: Policy): number | null {
  const gap = windowMs / limit;
  let fullAt = 0;
  for (const at of [...uses].sort((a, b) => a - b)) {
    fullAt = Math.max(fullAt, at) + gap;
    if (fullAt > at + windowMs + 0.01) return at;
  }
  return null;
}

test.each([1, 2, 3])('whenever tokens for later are used, no more pass than a bucket without them had let pass (%s)', async (seed) => {
  const random = (below: number): number => (draws = (draws * 48_271) % 2_147_483_647) % below;
  let draws = seed * 7_919;
  const policy: Policy = { limit: 20, windowMs: 20_000 };
  const aheadMs = 5_000;
  const bucket = fresh();
  const uses: number[] = [];
  let held: { tokens: number; until: number }[] = [];
  let passed = 0;
  const now = (): number => performance.now() + passed;
  // To the end of a time for use, mostly: the worst that nodes may do is to keep all to the last moment.
  const wait = async (): Promise<void> => {
    const last = Math.floor((held[0]?.until ?? now()) - now()) - 100;
    const ms = last > 0 && random(3) > 0 ? last : random(900);
    await pass(bucket, ms);
    passed += ms;
  };
  const use = (): void => {
    held = held.filter(({ until }) => until > now());
    for (const node of held) for (; node.tokens > 0; node.tokens -= 1) uses.push(now());
  };
  for (let round = 0; round < 250; round += 1) {
    const until = now() + aheadMs;
    const { granted } = await takeAhead(database.api, { bucket, policy, cost: 1, ahead: random(8), aheadMs });
    if (granted > 0) uses.push(now());
    if (granted > 1) held.push({ tokens: granted - 1, until });
    if (random(4) === 0) await wait();
    if (random(3) === 0) use();
  }
  expect(uses.length).toBeGreaterThan(policy.limit * 2);
  expect(firstRefused(uses, policy)).toBeNull();
});

test('buckets that are full again are gone when others come', async () => {
  const policy: Policy = { limit: 1, windowMs: 3_600_000 };
  const old = [fresh(), fresh(), fresh()];
  for (const bucket of old) await takeFrom(database.api, { bucket, policy });
  await superuser.query(`update rate_bucket set full_at = 1 where bucket = any ($1)`, [old]);
  const late = [fresh(), fresh()];
  for (const bucket of late) await takeFrom(database.api, { bucket, policy });
  const kept = await rowsOf<{ bucket: Buffer }>(superuser, `select bucket from rate_bucket where bucket = any ($1)`, [[...old, ...late]]);
  expect(kept.map(({ bucket }) => bucket.toString('hex')).sort()).toEqual(late.map((bucket) => bucket.toString('hex')).sort());
});

test('no login reads a bucket, or takes from one but by its function', async () => {
  for (const db of [database.api, database.worker])
    for (const sql of ['select * from rate_bucket', 'delete from rate_bucket', 'update rate_bucket set full_at = 0'])
      await expect(db.query(sql)).rejects.toThrow('permission denied');
});
