import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { readReplication } from '@platform/database/replication.js';
import { runDoctor } from '@platform/doctor/run-doctor.js';
import { eventually } from '@test/support/eventually.js';
import { summary, type Turn } from './load.js';
import { converseUnder, expectWhole, openOutageWorld, type OutageWorld } from './outage-world.js';

const streamEnd = 'stream ended: RequestFailed storage_unavailable';
/** So much of the primary's last time no standby received. */
const lagMs = 1_500;

/** Both at once: what is received and what is acknowledged stop in the same moment. */
const stopReplication = ({ replication }: OutageWorld): void => {
  replication!.through(() => (chunk) => ({ pass: chunk.subarray(0, 0) }));
};
const replicationOf = async (world: OutageWorld) => {
  const pool = new Pool({ connectionString: world.primary.url, max: 1 });
  return readReplication(pool).finally(() => pool.end());
};
const leaseMs = 10_000;
const doctorSays = async ({ workerUrl }: OutageWorld) => (await runDoctor({ url: workerUrl, leaseMs })).findings.find(({ name }) => name === 'asynchronous-replication');
/** Long enough that the database is back before it ends: what makes the nodes start anew is the timeline. */
const lease = { OPENBOT_LEASE_MS: String(leaseMs) };
const outputs = ({ nodes }: OutageWorld): string => nodes.map(({ run }) => run?.output() ?? '').join('');
/** On a machine so busy that the lease ended before the promotion, the loss of the lease has done the same. */
const noticed = async (world: OutageWorld): Promise<void> => {
  await eventually(() => world.nodes.every(({ run }) => /timeline_changed|lease_lost/.test(run!.output())), Boolean, 30_000);
  for (const { name, run } of world.nodes) console.info(`node ${name} noticed: ${(run!.output().match(/timeline_changed|lease_lost/g) ?? []).join(', ')}`);
};

/** The servers go on meeting the dead primary until the standby is promoted, as before every failover. */
async function killPrimary(world: OutageWorld): Promise<void> {
  await world.primary.stop('hard');
  await world.failOver();
}

describe('synchronous', () => {
  let world: OutageWorld;
  beforeAll(async () => (world = await openOutageWorld({ nodes: ['first', 'second'], standby: 'synchronous', env: lease })));
  afterAll(() => world.close());

  test('a failover loses nothing and doubles nothing', async () => {
    expect(await replicationOf(world)).toEqual({ status: 'ok', standbys: 1, synchronous: null });
    await world.primary.ask('grant pg_read_all_stats to openbot_engine');
    await eventually(() => replicationOf(world), ({ synchronous }) => synchronous === 1); // prettier-ignore
    expect(await replicationOf(world)).toEqual({ status: 'ok', standbys: 1, synchronous: 1 });
    expect(await doctorSays(world)).toMatchObject({ verdict: 'well', count: 0 });
    expect(outputs(world)).not.toContain('replication is asynchronous');
    const bots = await world.load.createBots(8);
    const turns: Turn[] = await converseUnder(world, { bots, turnsEach: 2, round: 'message' }, () => killPrimary(world));
    console.info(summary('failed over, synchronous', turns, world.load));
    expect(turns.map(({ forgotten, lost }) => forgotten + lost)).toEqual(turns.map(() => 0));
    await expectWhole(world, turns, [streamEnd]);
    await noticed(world);
    expect(await world.rows(`select count(*)::int as count from error_record where category = 'commits_lost'`)).toEqual([{ count: 0 }]);
  });
});

describe('asynchronous', () => {
  let world: OutageWorld;
  beforeAll(async () => (world = await openOutageWorld({ nodes: ['first', 'second'], standby: 'asynchronous', env: lease })));
  afterAll(() => world.close());

  test('what a failover loses is said: readers get 409 CursorAhead, heads are claimed anew from what is stored, and everything that exists ends', async () => {
    await eventually(() => replicationOf(world), ({ standbys }) => standbys === 1); // prettier-ignore
    expect((await replicationOf(world)).status).toBe('asynchronous');
    // Said before it happens, by the doctor and by each worker at its start.
    expect(await doctorSays(world)).toMatchObject({ verdict: 'act', count: 1, detail: '1 standby', advice: expect.stringContaining('synchronous_standby_names') as string });
    for (const { run } of world.nodes) expect(run!.output()).toContain('replication is asynchronous');
    const bots = await world.load.createBots(8);
    const turns: Turn[] = await converseUnder(world, { bots, turnsEach: 2, round: 'message' }, async () => {
      stopReplication(world);
      await pause(lagMs);
      await killPrimary(world);
    });
    const forgotten = turns.reduce((sum, turn) => sum + turn.forgotten, 0);
    const lost = turns.reduce((sum, turn) => sum + turn.lost, 0);
    const [{ count }] = (await world.rows(`select count(*)::int as count from error_record where category = 'commits_lost'`)) as [{ count: number }];
    console.info(`${summary('failed over, asynchronous', turns, world.load)}; ${forgotten} events taken back, ${lost} receipts lost, ${count} executions reported`);
    // And after it: to readers by their cursors, to operators by a record of each execution that an owner had taken further, and by a line in the log.
    expect(forgotten).toBeGreaterThan(0);
    expect(count).toBeGreaterThan(0);
    expect(outputs(world)).toContain('commits_lost');
    expect(world.load.answers['409 CursorAhead']).toBeGreaterThan(0);
    await noticed(world);
    await expectWhole(world, turns, [streamEnd, '409 CursorAhead', '404 ExecutionNotFound']);
  });
});
