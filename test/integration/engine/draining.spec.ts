import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { readonly mode: 'stream' | 'stuck'; readonly done: number };

/** What the outside does: words come one by one when the test gives them; a stuck call ends by its signal alone. */
const outside = { sends: [] as string[], waits: [] as (() => void)[], ran: [] as string[] };

class StreamPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(StreamPhase)
class StreamHandler implements ICommandHandler<StreamPhase> {
  async execute({ run }: StreamPhase) {
    const { cursor, generation } = run.execution;
    const step = cursor.done + 1;
    await run.call({ step, name: 'model', kind: 'model', safety: 'repeatable', keep: () => null }, async ({ attempt, signal }) => {
      outside.sends.push(`${step}:${attempt}`);
      if (generation > 1 || step > 1) return 'at once';
      for (let word = 1; word <= 3; word += 1) {
        await new Promise<void>((resolve, reject) => {
          if (cursor.mode === 'stream') outside.waits.push(resolve);
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
        run.emit({ _tag: 'Text', step, attempt, delta: `word ${word} ` });
      }
      return 'streamed';
    });
    outside.ran.push(`${generation}:${step}`);
    run.finish({ ...cursor, done: step });
  }
}

@Workflow('streams', { version: 1 })
@Injectable()
class StreamSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= 3 ? end('completed') : phase(StreamPhase);
  }
}

describe('a node that leaves', () => {
  let database: TestDatabase;
  let superuser: Pool;
  const tenant = newTenant();
  const start = (node: string, graceMs: number) => startEngine(database, [StreamHandler, StreamSaga], { node, graceMs });
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
  });
  beforeEach(() => Object.assign(outside, { sends: [], waits: [], ran: [] }));
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('lets a streaming call come to its commit, and hands over without a stall', async () => {
    const leaving = await start('leaving', 30_000);
    const id = await admit(database, tenant, 'streams', { mode: 'stream', done: 0 });
    await eventually(() => outside.waits.length === 1);
    const stopped = leaving.stop();
    await eventually(
      () => rowsOf(superuser, `select 1 from node where name = 'leaving' and draining`),
      (rows) => rows.length === 1,
    );
    const fresh = await admit(database, tenant, 'streams', { mode: 'stream', done: 0 });
    const staying = await start('staying', 5_000);
    // Three words of each: the other node's own first step of the new work streams as well.
    for (let word = 1; word <= 6; word += 1) (await eventually(() => outside.waits.shift()))?.();
    await stopped;
    for (const each of [id, fresh])
      expect(
        await eventually(
          () => head(each),
          ({ ended_at }) => ended_at !== null,
        ),
      ).toMatchObject({ state: 'completed', stalls: 0, cursor: { done: 3 } });
    expect((await head(id)).generation).toBe(2);
    expect((await head(fresh)).generation).toBe(1);
    expect(outside.ran.filter((ran) => ran === '2:2' || ran === '2:3')).toHaveLength(2);
    const log = await logOf(superuser, staying.sealing, tenant.organizationId, id);
    expect(log.flatMap((event) => (event._tag === 'Text' ? [event.delta] : [])).join('')).toBe('word 1 word 2 word 3 ');
    expect(await rowsOf(superuser, `select name from node where name = 'leaving'`)).toEqual([]);
    expect([...leaving.errors, ...staying.errors]).toEqual([]);
    await staying.stop();
  });

  test('stops a call that outlasts the grace; the next owner sends a new attempt, and nothing costs a stall', async () => {
    const leaving = await start('leaving', 300);
    const id = await admit(database, tenant, 'streams', { mode: 'stuck', done: 0 });
    await eventually(() => outside.sends.length === 1);
    await leaving.stop();
    expect(await head(id)).toMatchObject({ state: 'running', owner: null, stalls: 0, runnable_at: Number.NEGATIVE_INFINITY });
    expect(leaving.errors).toEqual([]);
    const staying = await start('staying', 5_000);
    expect(
      await eventually(
        () => head(id),
        ({ ended_at }) => ended_at !== null,
      ),
    ).toMatchObject({ state: 'completed', generation: 2, stalls: 0 });
    expect(outside.sends).toEqual(['1:1', '1:2', '2:1', '3:1']);
    expect(await rowsOf(superuser, 'select step, attempt, state from execution_call where execution_id = $1 order by step, attempt', [id])).toEqual([
      { step: 1, attempt: 1, state: 'abandoned' },
      { step: 1, attempt: 2, state: 'succeeded' },
      { step: 2, attempt: 1, state: 'succeeded' },
      { step: 3, attempt: 1, state: 'succeeded' },
    ]);
    await staying.stop();
  });

  test('leaves when there is nothing to do, and its name is free at once', async () => {
    for (let round = 0; round < 3; round += 1) await (await start('leaving', 5_000)).stop();
    expect(await rowsOf(superuser, `select 1 from node where name = 'leaving'`)).toEqual([]);
  });
});
