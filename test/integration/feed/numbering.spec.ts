import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { FeedSequencer } from '@engine/feed-sequencer.js';
import { tellFeed } from '@engine/product-events.js';
import { openFeedHub, type FeedEntry } from '@contexts/feed/queries/feed-hub.js';
import { transact } from '@platform/database/transact.js';
import { InProcessWake } from '@platform/wake/in-process-wake.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { newTenant, poolOf, rowsOf, type Tenant } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

let database: TestDatabase;
let superuser: Pool;
const sequencers: FeedSequencer[] = [];
const faults: unknown[] = [];
const wake = new InProcessWake();

beforeAll(async () => {
  database = await openTestDatabase(30);
  superuser = new Pool({ connectionString: database.url });
});
afterEach(async () => {
  await Promise.all(sequencers.splice(0).map((sequencer) => sequencer.stop()));
  expect(faults).toEqual([]);
});
afterAll(async () => {
  await superuser.end();
  await database.close();
});

function startSequencer(): FeedSequencer {
  const sequencer = new FeedSequencer({
    pool: poolOf(database.worker),
    numbered: (projects) => wake.publish(projects),
    report: (cause) => void faults.push(cause),
    reach: () => undefined,
  });
  sequencers.push(sequencer);
  sequencer.start();
  return sequencer;
}

const memberId = uuidv7();
const tell = (tenant: Tenant, aggregateId: string, aggregateSequence: number, before: () => Promise<void> = async () => undefined) =>
  transact(database.api, tenant, async (tx) => {
    await tellFeed(tx, { type: 'bot.created', memberId, aggregateId, aggregateSequence });
    await before();
    return ok(undefined);
  });
type Place = { readonly position: number; readonly about: string; readonly sequence: number };
const feedOf = (tenant: Tenant, after = 0): Promise<Place[]> =>
  rowsOf<Place>(
    superuser,
    'select position::int, aggregate_id as about, aggregate_sequence as sequence from product_event where project_id = $1 and position > $2 order by position limit 7',
    [tenant.projectId, after],
  );
const counted = async (tenant: Tenant): Promise<number> =>
  (await rowsOf<{ n: number }>(superuser, 'select count(*)::int as n from product_event where project_id = $1', [tenant.projectId]))[0]!.n;

test('a transaction that commits late gets a later position, and nothing waits for it', async () => {
  const tenant = newTenant();
  const [late, early] = [uuidv7(), uuidv7()];
  const sequencer = startSequencer();
  let commit: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (commit = resolve));
  const writing = tell(tenant, late, 1, () => open);
  for (let number = 1; number <= 5; number += 1) await tell(tenant, early, number);
  sequencer.look();
  await eventually(async () => (await counted(tenant)) === 5);
  commit();
  await writing;
  await eventually(async () => (await counted(tenant)) === 6);
  expect((await feedOf(tenant)).map(({ about }) => about)).toEqual([early, early, early, early, early, late]);
});

test('a rollback tells nothing', async () => {
  const tenant = newTenant();
  await expect(
    tell(tenant, uuidv7(), 1, () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await tell(tenant, uuidv7(), 1);
  startSequencer();
  await eventually(async () => (await counted(tenant)) === 1);
});

test('what was told while nobody numbered is numbered in pieces, each feed for itself', async () => {
  const tenants = [newTenant(), newTenant()];
  await superuser.query(
    `insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence)
     select o, p, $1, 'bot.created', $1, n from generate_series(1, 3000) n cross join unnest($2::uuid[], $3::uuid[]) t(o, p)`,
    [memberId, tenants.map(({ organizationId }) => organizationId), tenants.map(({ projectId }) => projectId)],
  );
  startSequencer();
  for (const tenant of tenants) {
    await eventually(async () => (await counted(tenant)) === 3000);
    const wrong = await rowsOf(superuser, 'select 1 from product_event where project_id = $1 and position <> aggregate_sequence', [tenant.projectId]);
    expect(wrong).toEqual([]);
    expect(await rowsOf(superuser, 'select position::int from feed_position where project_id = $1', [tenant.projectId])).toEqual([{ position: 3000 }]);
  }
});

test('twenty readers at any cursor get every event once in one order, while writers hold transactions open and three number at once', async () => {
  const tenant = newTenant();
  const numbering = [startSequencer(), startSequencer(), startSequencer()];
  const hub = openFeedHub(database.api, wake);
  const writers = 12;
  const each = 40;
  const total = writers * each;
  const over = new AbortController();

  /** Pages as SQL alone answers them: a hole would be seen. */
  const pager = async (after: number): Promise<Place[]> => {
    const got: Place[] = [];
    for (let cursor = after; cursor < total;) {
      const page = await feedOf(tenant, cursor);
      for (const place of page) {
        expect(place.position).toBe((cursor += 1));
        got.push(place);
      }
    }
    return got;
  };
  const follower = async (after: number): Promise<Place[]> => {
    const got: Place[] = [];
    const position = await counted(tenant);
    const take = ({ sequence, view }: FeedEntry) => got.push({ position: sequence, about: view.about, sequence: view.sequence });
    for await (const batch of hub.observeBatches({
      context: tenant,
      logId: tenant.projectId,
      afterSequence: after,
      head: { sequence: position, ended: false },
      signal: over.signal,
    })) {
      batch.forEach(take);
      if (got.at(-1)?.position === total) break;
    }
    return got;
  };

  const writing = Array.from({ length: writers }, async (_, writer) => {
    const aggregate = uuidv7();
    for (let number = 1; number <= each; number += 1) {
      // Every fourth transaction stays open until others behind it are numbered, as long as there are others.
      const behind = await counted(tenant);
      const holds = (number + writer) % 4 === 0 && number < each - 8;
      await tell(tenant, aggregate, number, async () => {
        if (holds) await eventually(async () => (await counted(tenant)) > behind + 2);
      });
      numbering[number % 3]?.look();
    }
  });
  const readers: { after: number; got: Promise<Place[]> }[] = [];
  for (let reader = 0; reader < 20; reader += 1) {
    await eventually(async () => (await counted(tenant)) >= reader * 10);
    const after = Math.floor(Math.random() * (await counted(tenant)));
    readers.push({ after, got: reader % 2 === 0 ? pager(after) : follower(after) });
  }
  await Promise.all(writing);
  await eventually(async () => (await counted(tenant)) === total);
  const log = await rowsOf<Place>(
    superuser,
    'select position::int, aggregate_id as about, aggregate_sequence as sequence from product_event where project_id = $1 order by position',
    [tenant.projectId],
  );
  expect(log.map(({ position }) => position)).toEqual(Array.from({ length: total }, (_, place) => place + 1));
  for (const { after, got } of readers)
    expect((await got).map(({ position, sequence }) => [position, sequence])).toEqual(log.slice(after).map(({ position, sequence }) => [position, sequence]));
  // Each aggregate's own order is kept.
  for (const about of new Set(log.map((place) => place.about)))
    expect(log.filter((place) => place.about === about).map(({ sequence }) => sequence)).toEqual(Array.from({ length: each }, (_, place) => place + 1));
  over.abort();
  hub.close();
}, 60_000);

test("an event is the tenant's own, and only the sequencer writes what is read", async () => {
  const [mine, theirs] = [newTenant(), newTenant()];
  await tell(mine, uuidv7(), 1);
  startSequencer();
  await eventually(async () => (await counted(mine)) === 1);
  const question = [{ id: mine.projectId, organization: theirs.organizationId, project: theirs.projectId, after: 0, limit: 10 }];
  expect(await database.api.query(`select * from read_feed($1::jsonb)`, [JSON.stringify(question)])).toEqual([]);
  for (const statement of ['select sequence_feed(1)', 'select * from product_event_inbox', 'delete from product_event', 'update feed_position set position = 0'])
    await expect(poolOf(database.api).query(statement)).rejects.toMatchObject({ code: '42501' });
});
