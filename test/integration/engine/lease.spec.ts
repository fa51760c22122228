import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, cancel, logOf, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { startTcpProxy, type Passage, type TcpProxy } from '@test/support/tcp-proxy.js';

type Cursor = { readonly steps: number; readonly done: number; readonly talks?: boolean };
const outside = { sends: [] as string[], holds: false, letGo: [] as (() => void)[] };

class AskPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(AskPhase)
class AskHandler implements ICommandHandler<AskPhase> {
  async execute({ run }: AskPhase) {
    const { cursor, id } = run.execution;
    const step = cursor.done + 1;
    await run.call({ step, name: 'call', kind: 'test', safety: 'repeatable' }, async ({ attempt, signal }) => {
      outside.sends.push(`${id}:${step}:${attempt}`);
      if (cursor.talks) return talk(run, step, attempt, signal);
      if (outside.holds) await new Promise<void>((resolve) => outside.letGo.push(resolve));
      return 'answered';
    });
    run.finish({ ...cursor, done: step });
  }
}

/** Says a word each few milliseconds until it is told to stop, as a model does. */
async function talk(run: PhaseRun<Cursor>, step: number, attempt: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const words = setInterval(() => run.emit({ _tag: 'Text', step, attempt, delta: 'word '.repeat(60) }), 3);
    signal.addEventListener('abort', () => {
      clearInterval(words);
      reject(new Error('aborted'));
    });
  });
}

@Workflow('asks', { version: 1 })
@Injectable()
class AsksSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= cursor.steps ? end('completed') : phase(AskPhase);
  }
}

/** Nothing arrives, and nobody is told. */
const blackHole = (): Passage => () => ({ pass: Buffer.alloc(0) });

describe('the right to own work', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let proxy: TcpProxy;
  let worker: DataSource;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
      30_000,
    );
  const running = new Set<EngineHarness>();
  async function start(options: Parameters<typeof startEngine>[2], pool: DataSource = database.worker): Promise<EngineHarness> {
    const harness = await startEngine({ ...database, worker: pool }, [AskHandler, AsksSaga], { leaseMs: 1_500, ...options });
    running.add(harness);
    return harness;
  }
  async function stop(harness: EngineHarness): Promise<void> {
    running.delete(harness);
    await harness.stop();
  }

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    proxy = await startTcpProxy(database.workerUrl);
    worker = await new DataSource(dataSourceOptions(proxy.url, 'worker', 5)).initialize();
  });
  beforeEach(() => Object.assign(outside, { sends: [], holds: false, letGo: [] }));
  afterEach(async () => {
    proxy.through(null);
    for (const harness of running) await stop(harness);
  });
  afterAll(async () => {
    await worker.destroy();
    await proxy.close();
    await superuser.end();
    await database.close();
  });

  test('a start that fails after it took the name gives the name back', async () => {
    const closed = await new DataSource(dataSourceOptions(database.workerUrl, 'worker', 1)).initialize();
    await closed.destroy();
    await expect(start({ node: 'again' }, closed)).rejects.toThrow();
    const startedAt = performance.now();
    const harness = await start({ node: 'again', leaseMs: 20_000 });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await stop(harness);
  });

  test('a renewal that vanishes costs the office: what runs is given up, and done under a new epoch', async () => {
    const harness = await start({ node: 'renewed', connection: { connectionString: proxy.url } });
    outside.holds = true;
    const id = await admit(database, tenant, 'asks', { steps: 2, done: 0 });
    await eventually(() => outside.letGo.length === 1);
    proxy.through(blackHole);
    await eventually(() => !harness.engine.isAlive());
    outside.holds = false;
    // The answer comes to an owner that is none any more: it saves it late, and the next owner asks nothing again.
    outside.letGo.splice(0).forEach((answer) => answer());
    await eventually(() => harness.errors.some(({ category }) => category === 'lease_lost'));
    expect(await head(id)).toMatchObject({ state: 'running', cursor: { done: 0 } });
    await eventually(
      () => rowsOf<{ late: boolean }>(superuser, 'select late from execution_call where execution_id = $1', [id]),
      ([call]) => call?.late === true,
    );
    proxy.through(null);
    expect(await ended(id)).toMatchObject({ state: 'completed', cursor: { done: 2 }, epoch: null });
    expect(await rowsOf(superuser, `select epoch from node where name = 'renewed'`)).toEqual([{ epoch: '2' }]);
    expect(outside.sends).toEqual([`${id}:1:1`, `${id}:2:1`]);
    expect(harness.errors.map(({ category }) => category)).toEqual(['lease_lost']);
    await stop(harness);
    expect(await rowsOf(superuser, `select 1 from node where name = 'renewed'`)).toEqual([]);
  });

  test('a renewal connection that is cut is replaced within the lease, and nobody notices', async () => {
    const harness = await start({ node: 'cut', connection: { connectionString: proxy.url } });
    outside.holds = true;
    const id = await admit(database, tenant, 'asks', { steps: 1, done: 0 });
    await eventually(() => outside.letGo.length === 1);
    const beat = async () => (await rowsOf<{ beat: string }>(superuser, `select beat from node where name = 'cut'`))[0]?.beat;
    for (let round = 0; round < 3; round += 1) {
      const before = await beat();
      proxy.cutAll();
      await eventually(beat, (now) => now !== before);
    }
    outside.letGo.splice(0).forEach((answer) => answer());
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 1 });
    expect(await rowsOf(superuser, `select epoch from node where name = 'cut'`)).toEqual([{ epoch: '1' }]);
    expect(harness.errors).toEqual([]);
    await stop(harness);
  });

  test('a claim whose answer is swallowed is taken back, and the work ends', async () => {
    const harness = await start({ node: 'deaf' }, worker);
    let swallowed = 0;
    // The first answer that names the work is the claim's: it never arrives, nor does anything behind it on its connection.
    proxy.through(() => {
      let deaf = false;
      return (chunk, direction) => {
        if (direction === 'down' && swallowed === 0 && chunk.includes('asks')) {
          swallowed += 1;
          deaf = true;
        }
        return { pass: direction === 'down' && deaf ? Buffer.alloc(0) : chunk };
      };
    });
    const id = await admit(database, tenant, 'asks', { steps: 1, done: 0 });
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2 });
    expect(swallowed).toBe(1);
    expect(outside.sends).toHaveLength(1);
    expect(await rowsOf(superuser, `select state from execution_event where execution_id = $1 and type = 'State' order by sequence`, [id])).toEqual([
      { state: 'queued' },
      { state: 'running' },
      { state: 'completed' },
    ]);
    expect(harness.errors.filter(({ category }) => category !== 'claim_failed')).toEqual([]);
    proxy.through(null);
    await stop(harness);
  });

  test('cancels in the middle of streamed text end as cancelled, without a failure and without a hole', async () => {
    const harness = await start({ node: 'talks', leaseMs: 10_000 });
    const ids = await Promise.all(Array.from({ length: 30 }, () => admit(database, tenant, 'asks', { steps: 1, done: 0, talks: true })));
    await Promise.all(
      ids.map(async (id) => {
        await eventually(
          () => head(id),
          ({ sequence }) => (sequence as number) > 4,
        );
        await cancel(database, tenant, id);
        harness.wake.publish([id]);
        expect(await ended(id)).toMatchObject({ state: 'cancelled', failure_category: null, error_id: null, generation: 1 });
      }),
    );
    for (const id of ids) {
      const log = await logOf(superuser, harness.sealing, tenant.organizationId, id);
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
      expect(log.flatMap((event) => (event._tag === 'State' ? [event.state] : []))).toEqual(['queued', 'running', 'cancelling', 'cancelled']);
    }
    expect(harness.errors).toEqual([]);
    await stop(harness);
  });
});
