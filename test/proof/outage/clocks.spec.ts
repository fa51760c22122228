import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { end, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { admit, newTenant, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { describeWith } from '@test/support/services.js';
import { summary, type Turn } from './load.js';
import { converseUnder, expectWhole, openOutageWorld, type OutageWorld } from './outage-world.js';

const hourMs = 3_600_000;
/** No busy machine loses it, and an hour is far more. */
const leaseMs = 60_000;

/** Waits until an instant of the database's clock, once. */
@Workflow('waits', { version: 1 })
@Injectable()
class WaitsSaga implements Saga<{ readonly ms: number }> {
  next({ cursor }: Stored<{ readonly ms: number }>, wake: Wake): Next {
    return wake.due ? end('completed') : wait({ until: new Date(wake.now.getTime() + cursor.ms) });
  }
}

/** A wall clock that a running process reads from a file. What measures durations is not touched. */
async function openClock(folder: string, name: string) {
  const file = join(folder, name);
  const step = async (offset: string): Promise<void> => {
    await writeFile(`${file}.new`, `${offset}\n`, { mode: 0o644 });
    await rename(`${file}.new`, file);
  };
  await step('+0');
  const preload = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
  // One of the two names of each switch is known to each release of the library.
  const env = { LD_PRELOAD: preload, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  return { step, env };
}

describeWith('faketime')('clocks that are stepped by an hour while everything runs', () => {
  let folder: string;
  let nodeClock: Awaited<ReturnType<typeof openClock>>;
  let databaseClock: Awaited<ReturnType<typeof openClock>>;
  let world: OutageWorld;
  let bots: string[];
  const turns: Turn[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openbot-clocks-'));
    await chmod(folder, 0o755);
    [nodeClock, databaseClock] = await Promise.all([openClock(folder, 'node'), openClock(folder, 'database')]);
    world = await openOutageWorld({ nodes: ['first', 'second'], env: { ...nodeClock.env, OPENBOT_LEASE_MS: String(leaseMs) }, postgresEnv: databaseClock.env });
    bots = await world.load.createBots(10);
  });
  afterAll(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });

  const aheadMs = async (): Promise<number> => {
    const [{ now }] = (await world.rows('select clock_timestamp() as now')) as [{ now: Date }];
    return now.getTime() - Date.now();
  };
  const nodes = (): Promise<unknown[]> => world.rows('select name, epoch from node order by name');

  async function stepped(what: string, step: () => Promise<void>): Promise<void> {
    const before = await nodes();
    const own = await converseUnder(world, { bots, turnsEach: 1, round: what }, step);
    turns.push(...own);
    console.info(summary(what, own, world.load));
    await expectWhole(world, turns, []);
    // No takeover and no new epoch: who owns what is nobody's wall clock.
    expect(await world.rows('select id from execution where generation <> 1 and member_id is not null')).toEqual([]);
    expect(await nodes()).toEqual(before);
  }

  test('of the nodes, forward and back', async () => {
    await stepped('the nodes’ clock an hour ahead', () => nodeClock.step('+1h'));
    await stepped('the nodes’ clock an hour behind', () => nodeClock.step('-1h'));
    await nodeClock.step('+0');
  });

  test('of the database, forward and back', async () => {
    await stepped('the database’s clock an hour ahead', () => databaseClock.step('+1h'));
    expect(await aheadMs()).toBeGreaterThan(hourMs - 60_000);
    await stepped('the database’s clock an hour behind', () => databaseClock.step('-1h'));
    expect(await aheadMs()).toBeLessThan(60_000 - hourMs);
    await databaseClock.step('+0');
  });

  test('timers fire by the database’s clock alone', async () => {
    const { workerUrl } = world;
    const [api, worker] = await Promise.all((['api', 'worker'] as const).map((role) => new DataSource(dataSourceOptions(workerUrl, role, 3)).initialize()));
    const database = { url: world.primary.url, apiUrl: workerUrl, workerUrl, api: api!, worker: worker!, close: () => Promise.resolve() };
    const harness = await startEngine(database, [WaitsSaga], { node: 'timers' });
    const stateOf = async (id: string) => ((await world.rows(`select state, wait_until from execution where id = '${id}'`)) as { state: string; wait_until: Date | null }[])[0]!;
    const isWaiting = ({ state }: { state: string }): boolean => state === 'waiting';
    const [soon, later] = await Promise.all([1_000, hourMs / 2].map((ms) => admit(database, newTenant(), 'waits', { ms })));
    expect((await eventually(() => stateOf(soon!), ({ state }) => state === 'completed', 60_000)).wait_until).not.toBeNull(); // prettier-ignore
    await eventually(() => stateOf(later!), isWaiting, 60_000);
    await databaseClock.step('+1h');
    await eventually(() => stateOf(later!), ({ state }) => state === 'completed', 60_000); // prettier-ignore
    await databaseClock.step('-1h');
    const back = await admit(database, newTenant(), 'waits', { ms: 1_000 });
    await eventually(() => stateOf(back), ({ state }) => state === 'completed', 60_000); // prettier-ignore
    expect(harness.errors.filter(({ category }) => !['claim_failed', 'sweep_failed'].includes(category))).toEqual([]);
    await harness.stop();
    await Promise.all([api!.destroy(), worker!.destroy()]);
  });
});
