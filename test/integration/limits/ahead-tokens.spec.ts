import { createHmac } from 'node:crypto';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { AheadTokens } from '@platform/limits/ahead-tokens.js';
import { bucketOf, type Policy } from '@platform/limits/take-from.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

const key = { mac: (text: string) => createHmac('sha256', 'test').update(text).digest() };
const hour = 3_600_000;

let database: TestDatabase;
let statements = 0;
let buckets = 0;
const fresh = (): Buffer => bucketOf(key, 'ahead', String((buckets += 1)));

beforeAll(async () => {
  database = await openTestDatabase();
  const { query } = database.api;
  database.api.query = (...given: Parameters<typeof query>) => {
    statements += 1;
    return query.apply(database.api, given) as never;
  };
});
afterAll(() => database.close());

test('a caller who comes one by one gets the whole limit of a small bucket, and is refused with no statement', async () => {
  const [node, bucket, policy] = [new AheadTokens(database.api), fresh(), { limit: 15, windowMs: hour } satisfies Policy];
  const answers = [];
  for (let n = 0; n < 15; n += 1) answers.push(await node.take(bucket, policy));
  expect(answers.map(({ allowed, remaining }) => [allowed, remaining])).toEqual(answers.map((_, n) => [true, 14 - n]));
  expect((await node.take(bucket, policy)).allowed).toBe(false);
  const before = statements;
  const refused = await Promise.all(Array.from({ length: 50 }, () => node.take(bucket, policy)));
  expect(refused.every(({ allowed, retryAfterMs }) => !allowed && retryAfterMs > 0 && retryAfterMs <= hour / 15)).toBe(true);
  expect(statements).toBe(before);
});

test('two nodes and a crowd: no more pass than the limit, nearly all of it is used, and few statements are sent', async () => {
  const other = await new DataSource(dataSourceOptions(database.apiUrl, 'api', 5)).initialize();
  try {
    const [bucket, policy] = [fresh(), { limit: 400, windowMs: hour } satisfies Policy];
    const nodes = [new AheadTokens(database.api), new AheadTokens(other)];
    const before = statements;
    let passed = 0;
    let asked = 0;
    const caller = async (node: AheadTokens): Promise<void> => {
      for (let n = 0; n < 40; n += 1) {
        asked += 1;
        if ((await node.take(bucket, policy)).allowed) passed += 1;
      }
    };
    await Promise.all(nodes.flatMap((node) => Array.from({ length: 10 }, () => caller(node))));
    expect(asked).toBe(800);
    expect(passed).toBeLessThanOrEqual(400);
    // At most what both still hold, a twentieth each.
    expect(passed).toBeGreaterThanOrEqual(360);
    expect(statements - before).toBeLessThan(100);
  } finally {
    await other.destroy();
  }
});

test('tokens that were not used in time are used by nobody', async () => {
  let now = 0;
  const [node, bucket, policy] = [new AheadTokens(database.api, () => now), fresh(), { limit: 200, windowMs: hour } satisfies Policy];
  for (let n = 0; n < 40; n += 1) await node.take(bucket, policy);
  now += 1_000;
  const before = statements;
  await node.take(bucket, policy);
  expect(statements).toBe(before + 1);
});

test('a database that does not answer is no refusal and lets nobody through', async () => {
  const away = await new DataSource(dataSourceOptions(database.apiUrl, 'api', 1)).initialize();
  await away.destroy();
  const [node, bucket, policy] = [new AheadTokens(away), fresh(), { limit: 5, windowMs: hour } satisfies Policy];
  const answers = await Promise.allSettled(Array.from({ length: 5 }, () => node.take(bucket, policy)));
  expect(answers.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  // And once it is back, everything is as ever.
  const back = new AheadTokens(database.api);
  expect((await back.take(bucket, policy)).allowed).toBe(true);
});

test('many callers who come once leave nothing behind', async () => {
  let now = 0;
  const node = new AheadTokens(database.api, () => now);
  const policy: Policy = { limit: 100, windowMs: 1_000 };
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(Array.from({ length: 250 }, () => node.take(fresh(), policy)));
    now += 60_000;
  }
  expect(node.size).toBeLessThanOrEqual(1_500);
});
