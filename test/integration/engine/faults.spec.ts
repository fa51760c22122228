import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

type Cursor = { readonly mode: string; readonly done?: boolean };

class FaultyPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(FaultyPhase)
class FaultyHandler implements ICommandHandler<FaultyPhase> {
  async execute({ run }: FaultyPhase) {
    const { mode } = run.execution.cursor;
    if (mode === 'silent-phase') return;
    if (mode === 'bad-text') {
      // No integer of PostgreSQL: the flush in the background is refused as data.
      run.emit({ _tag: 'Text', step: 2 ** 40, attempt: 1, delta: 'never stored' });
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
      run.signal.throwIfAborted();
    }
    if (mode === 'bad-rows' || mode === 'bad-rows-then-calls')
      return run.finish({ mode, done: true }, { feature: 'probe', aggregateId: run.execution.subjectId ?? '', rows: { number: -1 } });
    if (mode === 'says-then-reads') {
      run.emit({ _tag: 'ToolResult', step: 1, callId: 'one', status: 'completed' });
      if (run.kept.get('read') !== true) {
        run.kept.set('read', true);
        throw Object.assign(new Error('the database restarts'), { code: '57P01' });
      }
    }
    run.finish({ mode, done: true });
  }
}

const sent: string[] = [];

class TwoCallsPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(TwoCallsPhase)
class TwoCallsHandler implements ICommandHandler<TwoCallsPhase> {
  async execute({ run }: TwoCallsPhase) {
    const ask = (name: string) => run.call({ step: 2, name, kind: 'test', safety: 'repeatable' }, () => Promise.resolve(void sent.push(name)));
    const asked = await Promise.allSettled([ask('one'), ask('two')]);
    for (const each of asked) if (each.status === 'rejected') throw each.reason;
    run.finish({ mode: 'done', done: true });
  }
}

let nexts = 0;
let ends = 0;
let endWorks = false;
const woken: Wake[] = [];

@Workflow('faulty', { version: 1 })
@Injectable()
class FaultySaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>, wake: Wake): Next {
    nexts += 1;
    if (cursor.mode === 'past-wait') return wait({ until: new Date(wake.now.getTime() - 1_000) });
    if (cursor.mode === 'throwing-next') throw new Error('a bug');
    if (cursor.mode === 'bad-rows-then-calls' && cursor.done) return phase(TwoCallsPhase);
    if (cursor.mode === 'broken-end' || cursor.done) return end('completed');
    return phase(FaultyPhase);
  }
  async end(_tx: Tx, { cursor }: Stored<Cursor>): Promise<void> {
    if (cursor.mode !== 'broken-end') return;
    ends += 1;
    if (!endWorks) throw new Error('the end has a bug');
  }
}

@Workflow('timer', { version: 1 })
@Injectable()
class TimerSaga implements Saga<{ readonly until: string }> {
  next({ cursor }: Stored<{ readonly until: string }>, wake: Wake): Next {
    woken.push(wake);
    return wake.due ? end('completed') : wait({ until: new Date(cursor.until) });
  }
}

describe('faults of a workflow', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();
  const start = () => startEngine(database, [FaultyHandler, TwoCallsHandler, FaultySaga, TimerSaga], { node: 'faults' });
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const run = async (mode: string) => admit(database, tenant, 'faulty', { mode }, { subjectId: await newProbe(superuser, tenant) });
  const reported = (id: string) => harness.errors.filter(({ executionId }) => executionId === id).map(({ category }) => category);

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    harness = await start();
  });
  beforeEach(() => {
    nexts = 0;
    ends = 0;
    endWorks = false;
    woken.length = 0;
  });
  afterAll(async () => {
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  test.each([
    ['a wait for a time that has passed', 'past-wait', 1],
    ['a next that throws', 'throwing-next', 1],
    ['a phase that commits nothing', 'silent-phase', 1],
    ['text that is no data', 'bad-text', 1],
    ['rows that are no data', 'bad-rows', 2],
  ])('%s fails the work once, reported once', async (_, mode, asked) => {
    const id = await run(mode);
    expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'internal', generation: 1 });
    expect(reported(id)).toEqual(['internal']);
    expect(nexts).toBe(asked);
  });

  test('events of a phase that runs again are in the log once', async () => {
    const id = await run('says-then-reads');
    expect(await ended(id)).toMatchObject({ state: 'completed' });
    expect(await rowsOf(superuser, `select 1 from execution_event where execution_id = $1 and type = 'ToolResult'`, [id])).toHaveLength(1);
  });

  test('of two calls at once that share a commit with bad rows, none is sent that is not stored', async () => {
    const id = await run('bad-rows-then-calls');
    expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'internal' });
    const calls = await rowsOf<{ name: string }>(superuser, 'select name from execution_call where execution_id = $1', [id]);
    expect(sent).toEqual(['two']);
    expect(calls).toEqual([{ name: 'two' }]);
  });

  test('an end that throws is reported each time, tried again ever later, and done once it works', async () => {
    const id = await run('broken-end');
    const waiting = await eventually(
      () => head(id),
      ({ stalls, owner }) => stalls >= 3 && owner === null,
    );
    expect(waiting).toMatchObject({ state: 'running', ended_at: null });
    const [{ waits }] = (await rowsOf<{ waits: number }>(superuser, 'select extract(epoch from runnable_at - clock_timestamp())::float as waits from execution where id = $1', [
      id,
    ])) as [{ waits: number }];
    expect(waits).toBeGreaterThan(4);
    // Two ends of each owner: as it should, and as failed.
    expect(ends).toBe(6);
    expect(reported(id)).toEqual(['internal', 'end_failed', 'internal', 'end_failed', 'internal', 'end_failed']);
    endWorks = true;
    await superuser.query(`update execution set runnable_at = clock_timestamp() where id = $1`, [id]);
    expect(await ended(id)).toMatchObject({ state: 'completed', stalls: 0 });
  });

  test('a timer that became due while nobody ran fires at the start', async () => {
    const id = await admit(database, tenant, 'timer', { until: new Date(Date.now() + 1_500).toISOString() });
    await eventually(
      () => head(id),
      ({ state, owner }) => state === 'waiting' && owner === null,
    );
    await harness.stop();
    await eventually(
      () => rowsOf(superuser, 'select 1 from execution where id = $1 and runnable_at < clock_timestamp()', [id]),
      (rows) => rows.length === 1,
    );
    expect(await head(id)).toMatchObject({ state: 'waiting', generation: 1 });
    const startedAt = performance.now();
    harness = await start();
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2 });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(woken.map(({ due }) => due)).toEqual([false, true]);
  });

  test('a process whose clock is an hour off wakes, waits and ends by the database’s clock', async () => {
    const dateNow = jest.spyOn(Date, 'now').mockImplementation(() => 0);
    try {
      const [{ soon }] = (await rowsOf<{ soon: Date }>(superuser, `select clock_timestamp() + interval '300 ms' as soon`)) as [{ soon: Date }];
      const id = await admit(database, tenant, 'timer', { until: soon.toISOString() });
      expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2 });
      for (const wake of woken) expect(Math.abs(wake.now.getTime() - soon.getTime())).toBeLessThan(10_000);
      expect((woken[1]?.now.getTime() ?? 0) - soon.getTime()).toBeGreaterThanOrEqual(0);
    } finally {
      dateNow.mockRestore();
    }
  });

  test('no file of the engine asks the process for the time of day', () => {
    const folder = join(__dirname, '..', '..', '..', 'libs', 'engine', 'src');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
    expect(files.length).toBeGreaterThan(15);
    expect(files.filter((file) => /Date\.now\(|new Date\(\s*\)/.test(readFileSync(join(folder, file), 'utf8')))).toEqual([]);
  });
});
