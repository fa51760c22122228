import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

type Cursor = { readonly steps: number; readonly done: number };

class StreamingPhase {
  constructor(
    readonly run: PhaseRun<Cursor>,
    readonly args: { n: number },
  ) {}
}

/** Ends around the instant in which its text goes out by itself, so that the flush and the held commit meet in every order. */
@CommandHandler(StreamingPhase)
class StreamingHandler implements ICommandHandler<StreamingPhase> {
  async execute({ run, args: { n } }: StreamingPhase) {
    run.emit({ _tag: 'Text', step: n, attempt: 1, delta: 'first ' });
    await pause(47 + Math.random() * 8);
    run.emit({ _tag: 'Text', step: n, attempt: 1, delta: 'word '.repeat(Math.random() < 0.5 ? 1 : 300) });
    run.finish({ ...run.execution.cursor, done: n }, { feature: 'probe', aggregateId: run.execution.subjectId ?? '', rows: { number: n } });
  }
}

@Workflow('streaming', { version: 1 })
@Injectable()
class StreamingSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= cursor.steps ? end('completed') : phase(StreamingPhase, { n: cursor.done + 1 });
  }
}

describe('a finished phase whose commit is held', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    harness = await startEngine(database, [StreamingHandler, StreamingSaga], { node: 'streaming' });
  });
  afterAll(async () => {
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  test('is followed once, whenever its text goes out', async () => {
    const steps = 10;
    const ids = await Promise.all(
      Array.from({ length: 60 }, async () => admit(database, tenant, 'streaming', { steps, done: 0 }, { subjectId: await newProbe(superuser, tenant) })),
    );
    await eventually(
      () => rowsOf<{ open: number }>(superuser, 'select count(*)::int as open from execution where ended_at is null'),
      ([row]) => row?.open === 0,
      40_000,
    );
    const numbers = await rowsOf<{ numbers: number[] }>(superuser, 'select array_agg(number order by number) as numbers from probe_row group by execution_id');
    expect(numbers).toEqual(ids.map(() => ({ numbers: Array.from({ length: steps }, (_, index) => index + 1) })));
    expect(harness.errors).toEqual([]);
  });
});
