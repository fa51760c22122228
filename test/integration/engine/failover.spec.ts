import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { readReplication } from '@platform/database/replication.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, poolOf, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { readonly steps: number; readonly done: number };
const outside = { sends: [] as string[], letGo: null as (() => void) | null };

class AskPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

/** The first send of the third step waits until it is let go. */
@CommandHandler(AskPhase)
class AskHandler implements ICommandHandler<AskPhase> {
  async execute({ run }: AskPhase) {
    const step = run.execution.cursor.done + 1;
    await run.call({ step, name: 'call', kind: 'test', safety: 'repeatable' }, async ({ attempt }) => {
      outside.sends.push(`${step}:${attempt}`);
      if (step === 3 && !outside.letGo) await new Promise<void>((resolve) => (outside.letGo = resolve));
      return 'answered';
    });
    run.finish({ ...run.execution.cursor, done: step });
  }
}

@Workflow('asks', { version: 1 })
@Injectable()
class AsksSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= cursor.steps ? end('completed') : phase(AskPhase);
  }
}

let database: TestDatabase;
let superuser: Pool;

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await superuser.end();
  await database.close();
});

test('an owner whose acknowledged commits are gone forgets what it knows: the work is claimed anew and ends, and what was lost is reported', async () => {
  const tenant = newTenant();
  const harness = await startEngine(database, [AskHandler, AsksSaga]);
  const id = await admit(database, tenant, 'asks', { steps: 4, done: 0 });
  await eventually(() => outside.letGo !== null);
  // As a standby has it that received the first commit of the claim alone: the claim, the first call, nothing of what followed.
  const [first] = await rowsOf(superuser, `select max(sequence)::int as sequence from execution_event where execution_id = $1 and (commit_number = 1 or commit_number is null)`, [
    id,
  ]);
  await superuser.query(`delete from execution_event where execution_id = $1 and commit_number > 1`, [id]);
  await superuser.query(`delete from execution_call where execution_id = $1 and step > 1`, [id]);
  await superuser.query(`update execution_call set state = 'sending', result = null, ended_at = null where execution_id = $1`, [id]);
  await superuser.query(`update execution set commit_number = 1, sequence = $2, cursor = '{"steps": 4, "done": 0}' where id = $1`, [id, first!['sequence']]);
  outside.letGo!();
  const head = await eventually(
    async () => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!,
    ({ ended_at }) => ended_at !== null,
  );
  expect(head).toMatchObject({ state: 'completed', cursor: { done: 4 }, generation: 2, failure_category: null });
  expect(harness.errors).toEqual([{ category: 'commits_lost', executionId: id, cause: expect.objectContaining({ message: 'the database lost 2 acknowledged commits' }) }]);
  expect(outside.sends).toEqual(['1:1', '2:1', '3:1', '1:2', '2:1', '3:1', '4:1']);
  const log = await logOf(superuser, harness.sealing, tenant.organizationId, id);
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
  await harness.stop();
});

test('the worker and the API read the timeline, the worker alone the replication; a server without standbys is single', async () => {
  const [worker] = await rowsOf<{ timeline: string }>(poolOf(database.worker), 'select database_timeline() as timeline');
  expect(worker!.timeline).toMatch(/^\d{18,20}\/0000000[1-9A-F]$/);
  expect(await rowsOf(poolOf(database.api), 'select database_timeline() as timeline')).toEqual([worker]);
  expect(await readReplication(poolOf(database.worker))).toEqual({ status: 'single', standbys: 0, synchronous: 0 });
  await expect(readReplication(poolOf(database.api))).rejects.toMatchObject({ code: '42501' });
});

test('on another timeline a node hands over what it runs, with what it knows, takes a new epoch and claims anew', async () => {
  const tenant = newTenant();
  Object.assign(outside, { sends: [], letGo: null });
  const harness = await startEngine(database, [AskHandler, AsksSaga], { node: 'follows', leaseMs: 1_500 });
  const id = await admit(database, tenant, 'asks', { steps: 4, done: 0 });
  await eventually(() => outside.letGo !== null);
  await superuser.query(`create or replace function database_timeline() returns text language sql as $$ select 'another' $$`);
  await eventually(() => harness.points.includes('timeline:changed'));
  outside.letGo!();
  const head = await eventually(
    async () => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!,
    ({ ended_at }) => ended_at !== null,
  );
  expect(head).toMatchObject({ state: 'completed', cursor: { done: 4 }, generation: 2, stalls: 0 });
  expect(harness.errors.map(({ category }) => category)).toEqual(['timeline_changed']);
  expect(await rowsOf(superuser, `select epoch from node where name = 'follows'`)).toEqual([{ epoch: '2' }]);
  // What the outside had answered to the third step was handed over with the work, and is not asked for again.
  expect(outside.sends).toEqual(['1:1', '2:1', '3:1', '4:1']);
  await harness.stop();
});
