import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, itemOf, joinAs, releaseAll } from './by-hand.js';

const sent: string[] = [];

class ReadPhase {
  constructor(readonly run: PhaseRun<object>) {}
}

@CommandHandler(ReadPhase)
class ReadHandler implements ICommandHandler<ReadPhase> {
  async execute({ run }: ReadPhase) {
    await run.call({ step: 1, name: 'one', kind: 'test', safety: 'repeatable' }, () => Promise.resolve(sent.push('one')));
    run.finish({});
  }
}

@Workflow('reads', { version: 1 })
@Injectable()
class ReadsSaga implements Saga<object> {
  next(_work: Stored<object>, wake: Wake): Next {
    return wake.signals.length > 0 ? end('completed') : phase(ReadPhase);
  }
}

@Workflow('hears', { version: 1 })
@Injectable()
class HearsSaga implements Saga<object> {
  next(_work: Stored<object>, wake: Wake): Next {
    return wake.signals.length > 0 ? end('completed') : wait();
  }
}

describe('stored data that is damaged', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness | null = null;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const settled = (id: string, state: string) =>
    eventually(
      () => head(id),
      (found) => found['state'] === state && found['owner'] === null,
    );
  const reported = (id: string) => harness?.errors.filter(({ executionId }) => executionId === id).map(({ category }) => category);
  const start = async () => (harness = await startEngine(database, [ReadHandler, ReadsSaga, HearsSaga], { node: 'damaged' }));

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    await harness?.stop();
    harness = null;
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('a signal that cannot be opened fails the work, once', async () => {
    const id = await admit(database, tenant, 'hears');
    await signal(database, tenant, id, 'go');
    await superuser.query(`update execution_signal set body = '\\x00' where execution_id = $1`, [id]);
    await start();
    expect(await settled(id, 'failed')).toMatchObject({ failure_category: 'internal', generation: 1 });
    expect(reported(id)).toEqual(['internal']);
  });

  test('a result that cannot be opened fails the work, once, and nothing is sent again', async () => {
    const id = await admit(database, tenant, 'reads');
    const worker = poolOf(database.worker);
    const epoch = await joinAs(worker, 'hand');
    const [owned] = await claimAs(worker, 'hand', epoch, 'reads');
    const call = { step: 1, name: 'one', attempt: 1 } as const;
    await commitAlone(worker, itemOf(owned!, { calls: [{ ...call, kind: 'test', safety: 'repeatable', key: 'key', to: 'sending' }] }));
    await commitAlone(worker, { ...itemOf(owned!, { calls: [{ ...call, move: ['sending'], to: 'succeeded', result: 'AAAA' }] }), n: 2 });
    await releaseAll(worker, 'hand', epoch);
    await start();
    expect(await settled(id, 'failed')).toMatchObject({ failure_category: 'internal', generation: 2 });
    expect(reported(id)).toEqual(['internal']);
    expect(sent).toEqual([]);
  });

  test('an open call that cannot be read hides none beside it: what may have been sent waits for its decision', async () => {
    const id = await admit(database, tenant, 'reads');
    const worker = poolOf(database.worker);
    const epoch = await joinAs(worker, 'hand');
    const [owned] = await claimAs(worker, 'hand', epoch, 'reads');
    const opened = { step: 1, attempt: 1, kind: 'test', key: 'key', to: 'sending' } as const;
    const calls = [
      { ...opened, name: 'one', safety: 'repeatable', input: 'AAAA' },
      { ...opened, name: 'two', safety: 'unproven' },
    ] as const;
    expect(await commitAlone(worker, itemOf(owned!, { calls }))).toBe('applied');
    await releaseAll(worker, 'hand', epoch);
    await start();
    expect(await settled(id, 'outcome_unknown')).toMatchObject({ generation: 2 });
    expect(await rowsOf(superuser, 'select name, state from execution_call where execution_id = $1 and name = $2', [id, 'two'])).toEqual([{ name: 'two', state: 'unknown' }]);
    expect(reported(id)).toEqual(['internal']);
    expect(sent).toEqual([]);
  });
});
