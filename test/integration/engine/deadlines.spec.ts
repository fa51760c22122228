import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { ok, type Result } from '@domain/result.js';
import { admitExecution } from '@engine/admit.js';
import type { CallSafety } from '@engine/calls.js';
import { lockHeads } from '@engine/executions.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, itemOf, joinAs, releaseAll } from './by-hand.js';

type Cursor = { readonly mode: 'works' | 'waits' | 'asks-person' | 'sends'; readonly said?: boolean; readonly cleaned?: boolean };

/** Calls never end by themselves. */
const outside = { sends: [] as string[], aborts: [] as unknown[], refused: 0 };

class WorkPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(WorkPhase)
class WorkHandler implements ICommandHandler<WorkPhase> {
  async execute({ run }: WorkPhase) {
    const { id, cursor } = run.execution;
    const safety: CallSafety = cursor.mode === 'sends' ? 'unproven' : 'repeatable';
    const ask = (name: string) =>
      run.call({ step: 1, name, kind: 'test', safety }, async ({ signal: gate }) => {
        outside.sends.push(`${id}:${name}`);
        await new Promise((_, reject) => gate.addEventListener('abort', () => reject(new Error('aborted'))));
      });
    run.signal.addEventListener('abort', () => {
      outside.aborts.push(run.signal.reason);
      ask('late').catch(() => (outside.refused += 1));
    });
    await ask('call');
    run.finish(cursor);
  }
}

class CleanPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(CleanPhase)
class CleanHandler implements ICommandHandler<CleanPhase> {
  execute({ run }: CleanPhase) {
    run.finish({ ...run.execution.cursor, cleaned: !run.signal.aborted && run.wake.expired });
    return Promise.resolve();
  }
}

const nextOf = ({ cursor }: Stored<Cursor>, wake: Wake): Next => {
  if (cursor.mode === 'works' || cursor.mode === 'sends') return phase(WorkPhase);
  if (wake.due) return end('completed');
  return wait(cursor.mode === 'asks-person' ? { for: 'decision' } : { until: new Date('2100-01-01') });
};

@Workflow('limited', { version: 1 })
@Injectable()
class LimitedSaga implements Saga<Cursor> {
  next(work: Stored<Cursor>, wake: Wake): Next {
    return nextOf(work, wake);
  }
}

/** Cleans up when its time is over, waits until that is heard, and ends in its own way. */
@Workflow('tidy', { version: 1 })
@Injectable()
class TidySaga implements Saga<Cursor> {
  next(work: Stored<Cursor>, wake: Wake): Next {
    return nextOf(work, wake);
  }
  expired({ cursor }: Stored<Cursor>, wake: Wake): Next {
    if (!cursor.cleaned) return phase(CleanPhase);
    return wake.signals.length > 0 ? end('interrupted') : wait();
  }
}

const valueOf = <T>(result: Result<T, never>): T => (result as { readonly value: T }).value;

describe('the time of work', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();
  const head = async (id: string) =>
    (await rowsOf(superuser, 'select x.*, work_clock(x)::int as clock, extract(epoch from ended_at - created_at)::float * 1000 as took from execution x where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const parked = (id: string, state = 'waiting') =>
    eventually(
      () => head(id),
      (found) => found['state'] === state && found['owner'] === null,
    );
  const past = (id: string, ms: number) =>
    eventually(
      () => head(id),
      ({ clock }) => clock >= ms,
    );
  const reported = (id: string) => harness.errors.filter(({ executionId }) => executionId === id).map(({ category }) => category);
  const plain = { version: 1, subjectId: null, identityId: null, memberId: null, ready: true } as const;
  const exceeded = { state: 'failed', failure_category: 'deadline_exceeded', owner: null };

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    harness = await startEngine(database, [WorkHandler, CleanHandler, LimitedSaga, TidySaga], { node: 'time', graceMs: 200 });
  });
  beforeEach(() => Object.assign(outside, { sends: [], aborts: [], refused: 0 }));
  afterAll(async () => {
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  test.each([
    ['deadline', { deadline: { inMs: 2_000 } }],
    ['budget', { budgetMs: 400 }],
  ])('a %s that is over aborts what runs, closes the gate first, and fails the work once', async (_, limit) => {
    const id = await admit(database, tenant, 'limited', { mode: 'works' }, limit);
    const found = await ended(id);
    expect(found).toMatchObject({ ...exceeded, generation: 1 });
    expect(found['expired_at']).not.toBeNull();
    expect(found['took']).toBeGreaterThan(200);
    expect(outside.sends).toEqual([`${id}:call`]);
    expect(outside).toMatchObject({ aborts: ['expired'], refused: 1 });
    expect(reported(id)).toEqual(['deadline_exceeded']);
    expect(await rowsOf(superuser, 'select state from execution_call where execution_id = $1', [id])).toEqual([{ state: 'abandoned' }]);
  });

  test.each([
    ['deadline', { deadline: { inMs: 2_000 } }],
    ['budget', { budgetMs: 500 }],
  ])('work that waits ends at its %s, long before its wait does', async (_, limit) => {
    const id = await admit(database, tenant, 'limited', { mode: 'waits' }, limit);
    const waiting = await parked(id);
    expect(waiting['runnable_at']).toBeInstanceOf(Date);
    expect(waiting['wait_until']).toEqual(new Date('2100-01-01'));
    const found = await ended(id);
    expect(found).toMatchObject({ ...exceeded, generation: 2 });
    expect(found['took']).toBeGreaterThanOrEqual(450);
  });

  test('a wait without limits is woken by nothing of this', async () => {
    const id = await admit(database, tenant, 'limited', { mode: 'asks-person' });
    expect(await parked(id)).toMatchObject({ runnable_at: null, expired_at: null });
  });

  test('a wait for a person takes nothing of a budget, but ends at a deadline', async () => {
    const [patient, hurried] = await Promise.all([
      admit(database, tenant, 'limited', { mode: 'asks-person' }, { budgetMs: 300 }),
      admit(database, tenant, 'limited', { mode: 'asks-person' }, { budgetMs: 300, deadline: { inMs: 700 } }),
    ]);
    expect(await parked(patient)).toMatchObject({ runnable_at: null, ran_from: null });
    const found = await ended(hurried);
    expect(found).toMatchObject(exceeded);
    expect(found['took']).toBeGreaterThanOrEqual(650);
    const still = await head(patient);
    expect(still).toMatchObject({ state: 'waiting', runnable_at: null });
    expect(still['clock']).toBeLessThan(300);
    // Woken, it goes on with what it had left.
    await signal(database, tenant, patient, 'hello');
    harness.wake.publish([patient]);
    await eventually(
      () => head(patient),
      ({ generation, owner }) => generation === 2 && owner === null,
    );
    expect(await head(patient)).toMatchObject({ state: 'waiting', ran_from: null });
  });

  test('time without an owner is free: after a crash, a handover and while it was queued', async () => {
    const budgetMs = 60_000;
    const id = await admit(database, tenant, 'by-hand', { mode: 'works' }, { budgetMs });
    await superuser.query(`update execution set created_at = created_at - interval '1 hour' where id = $1`, [id]);
    const worker = poolOf(database.worker);
    const epoch = await joinAs(worker, 'hand');
    const [first] = await claimAs(worker, 'hand', epoch, 'by-hand');
    expect(first!.expiresAt!.getTime()).toBeGreaterThan(0);
    await past(id, 30);
    // It died half an hour ago, ten seconds after its claim.
    await superuser.query(`update execution set ran_from = ran_from - 1800000 where id = $1`, [id]);
    await superuser.query(`update node set seen_at = clock_timestamp() - interval '1790 s' where name = 'hand'`);
    expect(await releaseAll(worker, 'hand', epoch)).toBe(1);
    const afterCrash = await head(id);
    expect(afterCrash).toMatchObject({ ran_from: null, stalls: 1 });
    expect(afterCrash['clock']).toBeGreaterThanOrEqual(10_000);
    expect(afterCrash['clock']).toBeLessThan(120_000);

    await superuser.query(`update execution set runnable_at = clock_timestamp() - interval '1 hour' where id = $1`, [id]);
    const [second] = await claimAs(worker, 'hand', epoch, 'by-hand');
    expect(await commitAlone(worker, itemOf(second!, { do: 'yield', idle: true }))).toBe('applied');
    const handedOver = await head(id);
    expect(handedOver['clock']).toBeGreaterThanOrEqual(afterCrash['clock'] as number);
    expect(handedOver['clock']).toBeLessThan(120_000);

    // Back under a new epoch: what the one before it ran until it was seen last is taken, nothing else, and nothing is given back.
    const [third] = await claimAs(worker, 'hand', epoch, 'by-hand');
    expect(third!.expiresAt!.getTime() - Date.now()).toBeLessThan(budgetMs);
    await superuser.query(`update execution set ran_from = ran_from - 5000 where id = $1`, [id]);
    await superuser.query(`update node set seen_at = clock_timestamp(), last_epoch_seen_at = clock_timestamp() - interval '3 s', epoch = epoch + 1 where name = 'hand'`);
    await releaseAll(worker, 'hand', epoch);
    expect((await head(id))['clock'] - handedOver['clock']).toBeGreaterThanOrEqual(2_000);
    expect((await head(id))['clock'] - handedOver['clock']).toBeLessThan(4_000);
  });

  test('a takeover finds the budget as it was, also when it is over by then', async () => {
    const id = await admit(database, tenant, 'limited', { mode: 'works' }, { budgetMs: 60_000 });
    await eventually(() => outside.sends.length === 1);
    await superuser.query(`update execution set ran_from = ran_from - 120000 where id = $1`, [id]);
    await harness.stop();
    expect(await head(id)).toMatchObject({ state: 'running', owner: null, stalls: 0 });
    harness = await startEngine(database, [WorkHandler, CleanHandler, LimitedSaga, TidySaga], { node: 'time', graceMs: 200 });
    expect(await ended(id)).toMatchObject({ ...exceeded, generation: 2 });
    expect(outside.sends).toHaveLength(1);
  });

  test('a child stands while its parent waits for a person, owned or parked, and goes on after it', async () => {
    const parent = await admit(database, tenant, 'limited', { mode: 'asks-person' });
    await parked(parent);
    const child = (mode: Cursor['mode'], attached: boolean) =>
      transact(database.api, tenant, async (tx) => {
        await lockHeads(tx, [parent]);
        return admitExecution(tx, { ...plain, context: tenant, workflow: 'limited', cursor: { mode }, budgetMs: 500, parent: { id: parent, attached } }).then(ok);
      }).then(valueOf);
    const [runs, waits, detached] = await Promise.all([child('works', true), child('waits', true), child('waits', false)]);
    expect(await ended(detached)).toMatchObject(exceeded);
    expect((await head(detached))['took']).toBeGreaterThanOrEqual(450);
    // The end of its detached child woke the parent for an instant.
    const standing = { ended_at: null, expired_at: null };
    expect(await head(runs)).toMatchObject({ ...standing, state: 'running' });
    expect(await head(waits)).toMatchObject({ ...standing, state: 'waiting' });
    for (const id of [runs, waits]) expect((await head(id))['clock']).toBeLessThan(400);
    // The parent is at work again, also after the end of a child has woken it.
    for (const id of [runs, waits]) {
      const found = await eventually(
        async () => {
          await superuser.query(`update execution set ran_from = coalesce(ran_from, outer_clock(null)) where id = $1`, [parent]);
          return head(id);
        },
        ({ ended_at }) => ended_at !== null,
      );
      expect(found).toMatchObject(exceeded);
      expect(found['clock']).toBeGreaterThanOrEqual(450);
    }
  });

  test('a saga that deals with the end of its time cleans up, waits and ends as it wants', async () => {
    const id = await admit(database, tenant, 'tidy', { mode: 'works' }, { deadline: { inMs: 200 } });
    expect(await parked(id)).toMatchObject({ cursor: { cleaned: true }, runnable_at: null });
    await signal(database, tenant, id, 'heard');
    harness.wake.publish([id]);
    expect(await ended(id)).toMatchObject({ state: 'interrupted', failure_category: null });
    expect(reported(id)).toEqual([]);
  });

  test('a call that may have been sent is settled first: its time being over decides nothing about it', async () => {
    const id = await admit(database, tenant, 'limited', { mode: 'sends' }, { budgetMs: 300 });
    expect(await parked(id, 'outcome_unknown')).toMatchObject({ runnable_at: null });
    await transact(database.api, tenant, async (tx) => ok(await tx.query(`select decide_call($1, 1, 'call', 1, 'stop', null)`, [id])));
    harness.wake.publish([id]);
    expect(await ended(id)).toMatchObject(exceeded);
    expect(outside.sends).toEqual([`${id}:call`]);
  });

  test.each([
    ['deadline that says never', { deadline: new Date('9999-12-31T23:59:59.000Z') }],
    ['deadline after that', { deadline: { inMs: 10_000 * 366 * 86_400_000 } }],
    ['budget without an end', { budgetMs: Number.MAX_SAFE_INTEGER }],
  ])('a %s is over for no owner, wherever the database has its clock', async (_, limit) => {
    const id = await admit(database, tenant, 'far', { mode: 'waits' }, limit);
    const worker = poolOf(database.worker);
    const connection = await worker.connect();
    try {
      await connection.query(`set time zone 'Asia/Tokyo'`);
      const [claimed] = await claimAs(connection, 'far', await joinAs(worker, 'far'), 'far');
      expect(claimed).toMatchObject({ id, waitUntil: null });
      expect(claimed!.expiresAt!.getTime()).toBeGreaterThanOrEqual(Date.parse('9999-12-31T23:59:59.000Z'));
    } finally {
      connection.release(true);
    }
  });

  test('work that never became ready ends at its deadline', async () => {
    const id = await admit(database, tenant, 'limited', { mode: 'works' }, { ready: false, deadline: { inMs: 200 } });
    expect(await ended(id)).toMatchObject(exceeded);
    expect(outside.sends).toEqual([]);
  });

  test('a process whose clock is an hour off keeps to the database’s', async () => {
    const dateNow = jest.spyOn(Date, 'now').mockImplementation(() => 0);
    try {
      const id = await admit(database, tenant, 'limited', { mode: 'works' }, { deadline: { inMs: 300 } });
      const found = await ended(id);
      expect(found).toMatchObject(exceeded);
      expect(found['took']).toBeGreaterThan(100);
    } finally {
      dateNow.mockRestore();
    }
  });
});
