import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { ok } from '@domain/result.js';
import type { CommitItem } from '@engine/commit-item.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, itemOf, joinAs, releaseAll } from './by-hand.js';

type Cursor = { readonly mode: 'asks-person' | 'waits' | 'calls' | 'listens'; readonly done?: boolean };

const outside = { sends: 0, answers: [] as (() => void)[] };
const ends: string[] = [];
let nexts = 0;

class CallPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(CallPhase)
class CallHandler implements ICommandHandler<CallPhase> {
  async execute({ run }: CallPhase) {
    await run.call({ step: 1, name: 'call', kind: 'test', safety: 'repeatable' }, async ({ attempt, signal: gate }) => {
      outside.sends += 1;
      run.emit({ _tag: 'Text', step: 1, attempt, delta: 'words '.repeat(300) });
      await new Promise<void>((resolve, reject) => {
        outside.answers.push(resolve);
        gate.addEventListener('abort', () => reject(new Error('aborted')));
      });
    });
    await run.commit({ ...run.execution.cursor, done: true });
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
  }
}

@Workflow('stalled', { version: 1 })
@Injectable()
class StalledSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>, wake: Wake): Next {
    nexts += 1;
    if (cursor.mode === 'calls') return phase(CallPhase);
    if (wake.signals.some(({ name }) => name === 'go')) return end('completed');
    return wait(cursor.mode === 'asks-person' ? { for: 'decision' } : cursor.mode === 'waits' ? { until: new Date('2100-01-01') } : {});
  }
  end(_tx: Tx, { id }: Stored<Cursor>): Promise<void> {
    ends.push(id);
    return Promise.resolve();
  }
}

describe('takeovers without progress', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let harness: EngineHarness | null = null;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const parked = (id: string, state = 'waiting') =>
    eventually(
      () => head(id),
      (found) => found['state'] === state && found['owner'] === null,
    );
  const start = async () => (harness = await startEngine(database, [CallHandler, StalledSaga], { node: 'stalls', graceMs: 100 }));
  const reported = (id: string) => harness?.errors.filter(({ executionId }) => executionId === id).map(({ category }) => category);
  /** Work whose last two owners died of it. */
  async function stalled(mode: Cursor['mode']): Promise<string> {
    const id = await admit(database, tenant, 'stalled', { mode }, { ready: false });
    await superuser.query(`update execution set stalls = 2, runnable_at = '-infinity' where id = $1`, [id]);
    return id;
  }
  const decide = (id: string, decision: string) =>
    transact(database.api, tenant, async (tx) => ok(await tx.query(`select decide_call($1, 1, 'call', 1, $2, null)`, [id, decision])));

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
  });
  beforeEach(() => Object.assign(outside, { sends: 0, answers: [] }));
  afterEach(async () => {
    await harness?.stop();
    harness = null;
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('go on counting over a wait for a person, and end with any other wait', async () => {
    await start();
    const [person, timer] = await Promise.all([stalled('asks-person'), stalled('waits')]);
    expect(await parked(person)).toMatchObject({ stalls: 2 });
    expect(await parked(timer)).toMatchObject({ stalls: 0 });
  });

  test('go on counting over a call that was opened, text and a drain, and end with what a phase saves', async () => {
    const leaving = await start();
    const id = await stalled('calls');
    await eventually(() => outside.answers.length === 1);
    await eventually(
      () => rowsOf(superuser, `select 1 from execution_event where execution_id = $1 and type = 'Text'`, [id]),
      (rows) => rows.length > 0,
    );
    expect(await head(id)).toMatchObject({ stalls: 2, owner: 'stalls' });
    await leaving.stop();
    expect(await head(id)).toMatchObject({ stalls: 2, owner: null, runnable_at: Number.NEGATIVE_INFINITY });
    await start();
    await eventually(() => outside.answers.length === 2);
    outside.answers.forEach((answer) => answer());
    expect(
      await eventually(
        () => head(id),
        ({ cursor }) => (cursor as Cursor).done === true,
      ),
    ).toMatchObject({ stalls: 0, generation: 2 });
    await superuser.query(`delete from execution where id = $1`, [id]);
  });

  test('a wait of an owner that is drained costs nothing, and neither do ten handovers', async () => {
    const id = await admit(database, tenant, 'by-hand', {});
    const epoch = await joinAs(worker, 'hand');
    for (let death = 1; death <= 2; death += 1) {
      await claimAs(worker, 'hand', epoch, 'by-hand');
      await releaseAll(worker, 'hand', epoch);
      expect(await head(id)).toMatchObject({ stalls: death, runnable_at: Number.NEGATIVE_INFINITY });
    }
    for (let round = 0; round < 10; round += 1) {
      const [owned] = await claimAs(worker, 'hand', epoch, 'by-hand');
      expect(await commitAlone(worker, itemOf(owned!, { do: 'yield', idle: true }))).toBe('applied');
    }
    expect(await head(id)).toMatchObject({ stalls: 2, generation: 12 });
    await claimAs(worker, 'hand', epoch, 'by-hand');
    await releaseAll(worker, 'hand', epoch);
    const third = await head(id);
    expect(third['stalls']).toBe(3);
    expect((third['runnable_at'] as Date).getTime()).toBeGreaterThan(Date.now());
    await superuser.query(`delete from execution where id = $1`, [id]);
  });

  test('at the sixth an open call that may have been sent waits for its decision first; then the work ends, once, with the category crashes', async () => {
    const id = await admit(database, tenant, 'stalled', { mode: 'calls' });
    const epoch = await joinAs(worker, 'hand');
    const move = async (change: Partial<CommitItem>) => {
      const [owned] = await claimAs(worker, 'hand', epoch, 'stalled');
      const commits: Partial<CommitItem>[] = [change, { calls: [{ step: 1, name: 'call', attempt: 1, move: ['intent'], to: 'sending' }] }];
      for (const [index, each] of commits.entries())
        expect(await commitAlone(worker, { ...itemOf(owned!, { idle: true, ...each }), n: owned!.commitNumber + 1 + index })).toBe('applied');
    };
    await move({ calls: [{ step: 1, name: 'call', attempt: 1, kind: 'test', safety: 'unproven', key: 'key', to: 'intent' }] });
    await releaseAll(worker, 'hand', epoch);
    // Five more of its owners died before they wrote anything.
    await superuser.query(`update execution set stalls = 6, runnable_at = clock_timestamp() where id = $1`, [id]);

    await start();
    expect(await parked(id, 'outcome_unknown')).toMatchObject({ stalls: 6, failure_category: null });
    expect(await rowsOf(superuser, 'select state from execution_call where execution_id = $1', [id])).toEqual([{ state: 'unknown' }]);
    expect(ends).not.toContain(id);
    await decide(id, 'retry');
    expect(
      await eventually(
        () => head(id),
        ({ ended_at }) => ended_at !== null,
      ),
    ).toMatchObject({ state: 'failed', failure_category: 'crashes', owner: null });
    expect(outside.sends).toBe(0);
    expect(ends.filter((ended) => ended === id)).toHaveLength(1);
    expect(reported(id)).toEqual(['crashes']);
  });

  /** `runnable_at` by the place in the list. */
  async function suspects(stallsOf: readonly number[], mode: Cursor['mode']): Promise<string[]> {
    const ids = await Promise.all(stallsOf.map(() => admit(database, tenant, mode === 'calls' ? 'stalled' : 'by-hand', { mode }, { ready: false })));
    await superuser.query(
      `update execution x set stalls = s.stalls, runnable_at = clock_timestamp() - interval '1 hour' + s.place * interval '1 second'
       from unnest($1::uuid[], $2::int[]) with ordinality as s(id, stalls, place) where x.id = s.id`,
      [ids, stallsOf],
    );
    return ids;
  }
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

  test('from the third on they are taken by themselves: 64, then eight, then one, and never with others', async () => {
    const ids = await suspects([...times(70, 3), ...times(10, 4), 5, 6, ...times(3, 2)], 'waits');
    const epoch = await joinAs(worker, 'hand');
    const taken: number[][] = [];
    for (let group = 1; group <= 7; group += 1) {
      const { rows } = await worker.query<{ stalls: number }>('select (c.head).stalls from claim_executions($1, $2, $3, 100, true) c', [['by-hand:1'], 'hand', epoch]);
      taken.push(rows.map(({ stalls }) => stalls));
    }
    expect(taken).toEqual([times(64, 3), times(6, 3), times(8, 4), times(2, 4), [5], [6], []]);
    await superuser.query(`delete from execution where id = any($1::uuid[])`, [ids]);
  });

  test('bystanders of nodes that died are tried together, and other work waits five seconds for them at most', async () => {
    const ids = await suspects(times(30, 3), 'calls');
    await start();
    await eventually(() => outside.answers.length === 30);
    const other = await admit(database, tenant, 'stalled', { mode: 'waits' });
    await parked(other);
    expect(outside.answers).toHaveLength(30);
    outside.answers.forEach((answer) => answer());
    await eventually(
      () => rowsOf(superuser, `select 1 from execution where id = any($1::uuid[]) and stalls = 0 and cursor ->> 'done' = 'true'`, [ids]),
      (rows) => rows.length === 30,
    );
    await superuser.query(`delete from execution where id = any($1::uuid[])`, [ids]);
  });

  test('a signal that a saga has no use for wakes it once, and the same wait is no loop', async () => {
    await start();
    const id = await admit(database, tenant, 'stalled', { mode: 'listens' });
    await parked(id);
    for (const [index, name] of ['other', 'another'].entries()) {
      nexts = 0;
      await signal(database, tenant, id, name);
      await eventually(
        () => head(id),
        ({ generation, owner }) => generation === index + 2 && owner === null,
      );
      // Its next claims would come within a poll each.
      const other = await admit(database, tenant, 'stalled', { mode: 'waits' });
      await parked(other);
      expect(await head(id)).toMatchObject({ generation: index + 2, state: 'waiting', runnable_at: null });
      expect(nexts).toBe(2);
    }
    expect(reported(id)).toEqual([]);
    await signal(database, tenant, id, 'go');
    expect(
      await eventually(
        () => head(id),
        ({ ended_at }) => ended_at !== null,
      ),
    ).toMatchObject({ state: 'completed' });
  });
});
