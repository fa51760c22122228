import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { cutAtRandomBytes, seededRandom, startTcpProxy, type TcpProxy } from '@test/support/tcp-proxy.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

type Cursor = { readonly steps: number; readonly done: number };

class CountPhase {
  constructor(
    readonly run: PhaseRun<Cursor>,
    readonly args: { n: number },
  ) {}
}

@CommandHandler(CountPhase)
class CountHandler implements ICommandHandler<CountPhase> {
  async execute({ run, args: { n } }: CountPhase) {
    run.emit({ _tag: 'Text', step: n, attempt: 1, delta: `step ${n}` });
    await run.commit({ ...run.execution.cursor, done: n }, { feature: 'probe', aggregateId: run.execution.subjectId ?? '', rows: { number: n } });
  }
}

@Workflow('counting', { version: 1 })
@Injectable()
class CountingSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= cursor.steps ? end('completed') : phase(CountPhase, { n: cursor.done + 1 });
  }
  aggregates({ subjectId }: Stored<Cursor>) {
    return [{ feature: 'probe', id: subjectId ?? '' }];
  }
  async end(tx: Tx, { id, context, cursor }: Stored<Cursor>): Promise<void> {
    await tx.query('insert into probe_row (execution_id, organization_id, project_id, number) values ($1, $2, $3, $4)', [
      id,
      context.organizationId,
      context.projectId,
      cursor.done + 1,
    ]);
  }
}

const executions = 40;
const steps = 50;

describe('a database connection that is cut at random bytes', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let proxy: TcpProxy;
  let worker: DataSource;
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    proxy = await startTcpProxy(database.workerUrl);
    worker = await new DataSource(dataSourceOptions(proxy.url, 'worker', 10)).initialize();
  });
  afterAll(async () => {
    proxy.through(null);
    await worker.destroy();
    await proxy.close();
    await superuser.end();
    await database.close();
  });

  test.each([
    ['grouped', true],
    ['one by one', false],
  ])('2,000 commits, %s: each is in exactly once', async (_, groupedCommits) => {
    const seed = Number(process.env['OPENBOT_TEST_SEED'] ?? Date.now() % 2 ** 31);
    const harness = await startEngine({ ...database, worker }, [CountHandler, CountingSaga], { node: `cut-${String(groupedCommits)}`, groupedCommits });
    const before = proxy.cuts;
    proxy.through(cutAtRandomBytes(seededRandom(seed), 500, 60_000));
    try {
      const ids = await Promise.all(
        Array.from({ length: executions }, async () => admit(database, tenant, 'counting', { steps, done: 0 }, { subjectId: await newProbe(superuser, tenant) })),
      );
      await eventually(
        async () => (await rowsOf<{ open: number }>(superuser, 'select count(*)::int as open from execution where id = any ($1) and ended_at is null', [ids]))[0]?.open,
        (open) => open === 0,
        50_000,
      );
      const cuts = proxy.cuts - before;
      proxy.through(null);

      const heads = await rowsOf(superuser, 'select state, cursor, sequence from execution where id = any ($1)', [ids]);
      expect(heads).toEqual(ids.map(() => ({ state: 'completed', cursor: { steps, done: steps }, sequence: steps + 3 })));
      const numbers = await rowsOf<{ numbers: number[] }>(
        superuser,
        'select array_agg(number order by number) as numbers from probe_row where execution_id = any ($1) group by execution_id',
        [ids],
      );
      expect(numbers).toEqual(ids.map(() => ({ numbers: Array.from({ length: steps + 1 }, (__, index) => index + 1) })));
      expect(await rowsOf(superuser, 'select distinct p.total from probe p join execution x on x.subject_id = p.id where x.id = any ($1)', [ids])).toEqual([{ total: steps }]);
      for (const id of ids) {
        const log = await logOf(superuser, harness.sealing, tenant.organizationId, id);
        expect(log.map(({ sequence }) => sequence)).toEqual(log.map((__, index) => index + 1));
        expect(log.flatMap((event) => (event._tag === 'Text' ? [event.delta] : [event._tag]))).toEqual([
          'State',
          'State',
          ...Array.from({ length: steps }, (__, index) => `step ${index + 1}`),
          'State',
        ]);
      }
      expect(cuts).toBeGreaterThan(20);
      expect(harness.engine.committer?.counts.resent).toBeGreaterThan(0);
      expect(harness.errors.filter(({ executionId }) => executionId !== null)).toEqual([]);
    } catch (error) {
      throw new Error(`seed ${seed}: run again with OPENBOT_TEST_SEED=${seed}`, { cause: error });
    } finally {
      proxy.through(null);
      await harness.stop();
    }
  });
});
