import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { fail } from '@domain/result.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, cancel, logOf, newTenant, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { steps: number; done?: number; mode?: string };
const outside: { calls: string[]; gate: Promise<void> | null; fail: boolean } = { calls: [], gate: null, fail: false };

class StepPhase {
  constructor(
    readonly run: PhaseRun<Cursor>,
    readonly args: { n: number },
  ) {}
}

@CommandHandler(StepPhase)
class StepHandler implements ICommandHandler<StepPhase> {
  async execute({ run, args }: StepPhase) {
    const { cursor } = run.execution;
    if (cursor.mode === 'throw') throw new Error('a bug with a secret');
    if (cursor.mode === 'fail') return fail({ _tag: 'Refused' });
    const safety = cursor.mode === 'unproven' ? 'unproven' : 'repeatable';
    if (cursor.mode) {
      const outcome = await run.call({ step: args.n, name: 'call', kind: 'test', safety }, async ({ attempt, signal: gate }) => {
        outside.calls.push(`${run.execution.id}:${args.n}:${attempt}`);
        if (outside.gate) await Promise.race([outside.gate, new Promise((_, reject) => gate.addEventListener('abort', () => reject(new Error('aborted'))))]);
        if (outside.fail) throw new Error('the socket was cut');
        return { said: `answer ${args.n}` };
      });
      if (outcome.kind === 'result') run.emit({ _tag: 'Text', step: args.n, attempt: outcome.attempt, delta: outcome.result.said });
    }
    run.finish({ ...cursor, done: args.n });
    return undefined;
  }
}

@Workflow('steps', { version: 1 })
@Injectable()
class StepsSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>, _wake: Wake): Next {
    const done = cursor.done ?? 0;
    return done >= cursor.steps ? end('completed') : phase(StepPhase, { n: done + 1 });
  }
}

@Workflow('listener', { version: 1 })
@Injectable()
class ListenerSaga implements Saga<{ until?: string }> {
  next({ cursor }: Stored<{ until?: string }>, wake: Wake): Next {
    if (wake.signals.some(({ name }) => name === 'go')) return end('completed');
    if (cursor.until && wake.now >= new Date(cursor.until)) return end('interrupted');
    return wait(cursor.until ? { until: new Date(cursor.until) } : {});
  }
}

describe('the engine', () => {
  let database: TestDatabase;
  let pool: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(pool, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) => eventually(async () => (await head(id)).ended_at as Date | null).then(() => head(id));

  beforeAll(async () => {
    database = await openTestDatabase();
    pool = new Pool({ connectionString: database.url });
    harness = await startEngine(database, [StepHandler, StepsSaga, ListenerSaga]);
  });
  afterAll(async () => {
    await harness.stop();
    await pool.end();
    await database.close();
  });
  beforeEach(() => Object.assign(outside, { calls: [], gate: null, fail: false }));

  test('runs steps to the end, numbers every event and leaves no owner', async () => {
    const id = await admit(database, tenant, 'steps', { steps: 3 });
    expect(await ended(id)).toMatchObject({ state: 'completed', owner: null, runnable_at: null, generation: 1, cursor: { steps: 3, done: 3 } });
    expect(await logOf(pool, harness.sealing, tenant.organizationId, id)).toEqual([
      { sequence: 1, _tag: 'State', state: 'queued' },
      { sequence: 2, _tag: 'State', state: 'running' },
      { sequence: 3, _tag: 'State', state: 'completed' },
    ]);
  });

  test('saves a call before it is sent and its result with the step, in two commits', async () => {
    const id = await admit(database, tenant, 'steps', { steps: 2, mode: 'repeatable' });
    expect((await ended(id)).commit_number).toBe(3); // call 1 · result 1 with call 2 · result 2 with the end
    expect(outside.calls).toEqual([`${id}:1:1`, `${id}:2:1`]);
    expect(await rowsOf(pool, 'select step, attempt, state from execution_call where execution_id = $1 order by step', [id])).toEqual([
      { step: 1, attempt: 1, state: 'succeeded' },
      { step: 2, attempt: 1, state: 'succeeded' },
    ]);
    const log = await logOf(pool, harness.sealing, tenant.organizationId, id);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    expect(log.filter((event) => event._tag === 'Text')).toMatchObject([{ delta: 'answer 1' }, { delta: 'answer 2' }]);
  });

  test('sends an unproven call through intent and gate', async () => {
    const id = await admit(database, tenant, 'steps', { steps: 1, mode: 'unproven' });
    await ended(id);
    expect(harness.points).toEqual(expect.arrayContaining(['call:intent', 'call:sending']));
    expect(outside.calls).toHaveLength(1);
  });

  test('keeps a thrown cause out of the log and ends as failed', async () => {
    const id = await admit(database, tenant, 'steps', { steps: 1, mode: 'throw' });
    expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'internal' });
    const log = await logOf(pool, harness.sealing, tenant.organizationId, id);
    expect(JSON.stringify(log)).not.toContain('secret');
    expect(log.at(-2)).toMatchObject({ _tag: 'Failure', category: 'internal' });
  });

  test('ends with the tag of a returned failure', async () => {
    const id = await admit(database, tenant, 'steps', { steps: 1, mode: 'fail' });
    expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'Refused' });
  });

  test('waits for a signal, and ends by it', async () => {
    const id = await admit(database, tenant, 'listener');
    await eventually(async () => (await head(id)).state === 'waiting');
    await signal(database, tenant, id, 'go');
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 2 });
  });

  test('wakes by its timer', async () => {
    const id = await admit(database, tenant, 'listener', { until: new Date(Date.now() + 400).toISOString() });
    expect(await ended(id)).toMatchObject({ state: 'interrupted' });
  });

  test('a cancel reaches queued, waiting and running work; what was being sent is abandoned', async () => {
    const waiting = await admit(database, tenant, 'listener');
    await eventually(async () => (await head(waiting)).state === 'waiting');
    await cancel(database, tenant, waiting);
    expect(await ended(waiting)).toMatchObject({ state: 'cancelled', cancel_number: 1 });

    const queued = await admit(database, tenant, 'listener', {}, { ready: false });
    await cancel(database, tenant, queued);
    expect(await ended(queued)).toMatchObject({ state: 'cancelled' });

    outside.gate = new Promise(() => undefined);
    const running = await admit(database, tenant, 'steps', { steps: 1, mode: 'repeatable' });
    await eventually(() => outside.calls.length === 1);
    await cancel(database, tenant, running);
    expect(await ended(running)).toMatchObject({ state: 'cancelled' });
    expect(await rowsOf(pool, 'select state from execution_call where execution_id = $1', [running])).toEqual([{ state: 'abandoned' }]);
  });

  test('an unproven call whose socket was cut waits for a decision, and each decision does what it says', async () => {
    outside.fail = true;
    const ids = await Promise.all(['stop', 'retry', 'result'].map(() => admit(database, tenant, 'steps', { steps: 1, mode: 'unproven' })));
    for (const id of ids) await eventually(async () => (await head(id)).state === 'outcome_unknown' && (await head(id)).owner === null);
    expect(outside.calls).toHaveLength(3);
    outside.fail = false;
    const key = await harness.sealing.keyOf(tenant.organizationId);
    const result = key.seal({ table: 'execution_call', record: `${ids[2]}:1:call:1:result` }, JSON.stringify({ said: 'it happened' }));
    for (const [index, decision] of ['stop', 'retry', 'result'].entries()) {
      const client = await pool.connect();
      await client.query('select decide_call($1, 1, $2, 1, $3, $4)', [ids[index], 'call', decision, decision === 'result' ? result : null]);
      client.release();
    }
    for (const id of ids) expect(await ended(id)).toMatchObject({ state: 'completed' });
    expect(outside.calls.filter((call) => call.startsWith(ids[1] as string))).toEqual([`${ids[1]}:1:1`, `${ids[1]}:1:2`]);
    expect(outside.calls.filter((call) => call.startsWith(ids[0] as string))).toHaveLength(1);
    expect(outside.calls.filter((call) => call.startsWith(ids[2] as string))).toHaveLength(1);
    const texts = (await logOf(pool, harness.sealing, tenant.organizationId, ids[2] as string)).filter((event) => event._tag === 'Text');
    expect(texts).toMatchObject([{ delta: 'it happened' }]);
  });
});
