import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '@platform/database/migrate.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { openServerPlace, type ServerPlace } from '@test/support/server-process.js';
import { withDatabase } from '@test/support/test-server.js';

const waits = 1_000;
const windowMs = 60_000;
/** The pauses between two looks for work are half chance, so a window may be off by more than what is allowed to differ. */
const windows = 3;
const encryptionKeys = [{ id: 'test', key: Buffer.alloc(32, 7) }];

/** What one database was asked, statements inside functions included. */
type Asked = { readonly calls: number; readonly rows: number; readonly looks: number };
type World = { readonly admin: Client; readonly places: readonly ServerPlace[]; asked(): Promise<Asked> };

let folder: string;
let postgres: EmbeddedPostgres;
const worlds: World[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openbot-parked-'));
  // The servers of two databases share it, so that whatever the machine does meanwhile is done to both.
  const settings = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all', 'pg_stat_statements.max': '10000', max_connections: '200', fsync: 'off' };
  postgres = await startEmbeddedPostgres({ folder, settings });
});
afterAll(async () => {
  for (const { admin, places } of worlds) {
    await Promise.all(places.map((place) => place.close()));
    await admin.end();
  }
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

async function openWorld(name: string, parked: number): Promise<World> {
  const root = new Client({ connectionString: postgres.url });
  await root.connect();
  await root.query(`create database ${name}`);
  await root.end();
  const url = withDatabase(postgres.url, name);
  const logins = await migrate({ databaseUrl: url, databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys });
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query('create extension pg_stat_statements');
  // Half wait for a signal, half for an hour that is far away, as work of a workflow that every node knows.
  await admin.query(
    `insert into execution (id, organization_id, project_id, workflow, workflow_version, state, generation, sequence, started_at, runnable_at, wait_until)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'turn', 1, 'waiting', 1, 3, clock_timestamp(), at, at
     from (select case when n % 2 = 0 then clock_timestamp() + interval '30 days' + n * interval '1 second' end as at from generate_series(1, $1::int) n) waiting`,
    [parked],
  );
  const database = { url, apiUrl: logins.databaseApiUrl, workerUrl: logins.databaseWorkerUrl };
  const places = await Promise.all(['one', 'two'].map((node) => openServerPlace(database, { node })));
  await Promise.all(places.map((place) => place.start()));
  const asked = async (): Promise<Asked> => {
    const { rows } = await admin.query<{ calls: string; rows: string; looks: string }>(
      `select sum(calls) as calls, sum(rows) as rows, sum(calls) filter (where query ~ 'from (next_ready|look_around)\\(') as looks
       from pg_stat_statements s join pg_roles r on r.oid = s.userid where s.dbid = (select oid from pg_database where datname = current_database()) and r.rolname <> 'postgres'`,
    );
    return { calls: Number(rows[0]?.calls), rows: Number(rows[0]?.rows), looks: Number(rows[0]?.looks) };
  };
  const world = { admin, places, asked };
  worlds.push(world);
  return world;
}

const percent = (one: number, other: number): number => Math.abs(one / other - 1) * 100;
const less = (after: Asked, before: Asked): Asked => ({ calls: after.calls - before.calls, rows: after.rows - before.rows, looks: after.looks - before.looks });

test(`${waits} parked waits cost nothing: two nodes ask the database for what they ask it for with none, within 1 %`, async () => {
  const [none, parked] = [await openWorld('none', 0), await openWorld('parked', waits)];
  // Both have said their first words.
  await pause(5_000);
  const before = await Promise.all([none.asked(), parked.asked()]);
  let [without, withWaits] = before;
  let differs = Infinity;
  for (let window = 1; window <= windows && differs > 1; window += 1) {
    await pause(windowMs);
    const after = await Promise.all([none.asked(), parked.asked()]);
    [without, withWaits] = [less(after[0], before[0]), less(after[1], before[1])];
    differs = Math.max(percent(withWaits.calls, without.calls), percent(withWaits.rows, without.rows));
    console.info(`${window * 60} s, two nodes: none parked ${JSON.stringify(without)}, ${waits} parked ${JSON.stringify(withWaits)}: ${differs.toFixed(2)} %`);
  }
  expect(differs).toBeLessThanOrEqual(1);
  // And free of chance: what each look for work and each look at owners costs.
  expect(percent(withWaits.calls / withWaits.looks, without.calls / without.looks)).toBeLessThanOrEqual(1);
  expect(percent(withWaits.rows / withWaits.looks, without.rows / without.looks)).toBeLessThanOrEqual(1);
  const { rows } = await parked.admin.query(
    `select count(*)::int as waiting from execution where state = 'waiting' and generation = 1 and owner is null and workflow not like 'maintenance/%'`,
  );
  expect(rows).toEqual([{ waiting: waits }]);
});
