import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { phase, Workflow, type Next, type Saga } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { LeaseHandler, leaseSaga } from './lease-feature.js';

/** What the resources of one phase did, and whether the one in the middle lets itself be closed. */
const room = { closed: [] as string[], sent: 0, stuck: false };

class FailingPhase {
  constructor(readonly run: PhaseRun) {}
}

@CommandHandler(FailingPhase)
class FailingHandler implements ICommandHandler<FailingPhase> {
  execute({ run }: FailingPhase): Promise<void> {
    for (const name of ['one', 'two', 'three'])
      run.scope.defer(name, () => {
        if (name === 'two' && room.stuck) return Promise.reject(new Error('two is stuck'));
        room.closed.push(name);
        return Promise.resolve();
      });
    // Begun before the phase fails, and not sent yet when it has failed.
    run.call({ step: 1, name: 'stray', kind: 'test', safety: 'unproven' }, () => Promise.resolve((room.sent += 1))).catch(() => undefined);
    return Promise.reject(new Error('the first failure'));
  }
}

@Workflow('failing', { version: 1 })
@Injectable()
class FailingSaga implements Saga<object> {
  next(): Next {
    return phase(FailingPhase);
  }
}

describe('resources of a phase', () => {
  let database: TestDatabase;
  let superuser: Pool;
  const yard = mkdtempSync(join(tmpdir(), 'openbot-yard-'));
  const tenant = newTenant();
  const running = new Set<EngineHarness>();
  async function start(node: string, options: Parameters<typeof startEngine>[2] = {}): Promise<EngineHarness> {
    const harness = await startEngine(database, [FailingHandler, FailingSaga, LeaseHandler, leaseSaga('lease')], { node, leaseMs: 1_500, graceMs: 100, ...options });
    running.add(harness);
    return harness;
  }
  async function stop(harness: EngineHarness): Promise<void> {
    running.delete(harness);
    await harness.stop();
  }
  const lease = (name: string, more: object = {}, context = tenant) => admit(database, context, 'lease', { yard, name, outcome: null, ...more });
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const leasesOf = (id: string) => rowsOf(superuser, 'select * from resource_lease where execution_id = $1 order by opened_at', [id]);
  const leased = (id: string, state: string) =>
    eventually(
      () => leasesOf(id),
      (rows) => rows.at(-1)?.['state'] === state,
    );
  const mark = (file: string): void => writeFileSync(join(yard, file), '');
  const unmark = (file: string): void => rmSync(join(yard, file));

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    for (const harness of running) await stop(harness);
  });
  afterAll(async () => {
    rmSync(yard, { recursive: true });
    await superuser.end();
    await database.close();
  });

  test('close in reverse order; one that fails has its own cause, keeps the first failure, sends nothing, and is tried until it closes', async () => {
    Object.assign(room, { closed: [], sent: 0, stuck: true });
    const harness = await start('rooms');
    const id = await admit(database, tenant, 'failing');
    await eventually(() => harness.points.filter((point) => point === 'scope:close-failed').length >= 3);
    expect(room.closed).toEqual(['three', 'one']);
    expect(await head(id)).toMatchObject({ state: 'running', ended_at: null });
    const calls = () => rowsOf(superuser, 'select state from execution_call where execution_id = $1', [id]);
    await eventually(calls, ([call]) => call?.['state'] === 'sending' || call?.['state'] === 'intent');
    expect(room.sent).toBe(0);
    room.stuck = false;
    expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'internal', generation: 1 });
    expect(room.closed).toEqual(['three', 'one', 'two']);
    expect(room.sent).toBe(0);
    expect(await calls()).toEqual([{ state: 'abandoned' }]);
    expect(harness.errors.map(({ category, executionId, cause }) => [category, executionId, (cause as Error).message])).toEqual([
      ['close_failed:two', id, 'two is stuck'],
      ['internal', id, 'the first failure'],
    ]);
  });

  test('a lease is stored before, during and after its thing; others are refused until it is closed', async () => {
    const harness = await start('leases');
    mark('door.busy');
    const first = await lease('door');
    await leased(first, 'open');
    expect(await leasesOf(first)).toMatchObject([{ kind: 'thing', resource: 'door', owner: 'leases', generation: 1, state: 'open', closing_at: null, closed_at: null }]);
    expect(await ended(await lease('door'))).toMatchObject({ state: 'completed', cursor: { outcome: 'open' } });
    // Another project's thing of that name is another thing; here the yard is the same, so it has a yard of its own.
    const elsewhere = mkdtempSync(join(tmpdir(), 'openbot-yard-'));
    expect(await ended(await lease('door', { yard: elsewhere }, newTenant()))).toMatchObject({ cursor: { outcome: 'taken' } });
    rmSync(elsewhere, { recursive: true });
    unmark('door.busy');
    expect(await ended(first)).toMatchObject({ cursor: { outcome: 'taken' } });
    expect((await leasesOf(first))[0]).toMatchObject({ state: 'closed', error_id: null, closing_at: expect.any(Date), closed_at: expect.any(Date) });
    expect(await ended(await lease('door'))).toMatchObject({ cursor: { outcome: 'taken' } });
    expect(harness.errors).toEqual([]);
    expect(existsSync(join(yard, 'door'))).toBe(false);
  });

  test('an answer that was lost is read from the row; a stale claim registers nothing, and a closed lease stays closed', async () => {
    await start('answers');
    mark('gate.busy');
    const id = await lease('gate');
    const [row] = await leased(id, 'open');
    const { claim_id: claim, generation, cancel_number: cancel } = await head(id);
    const ask = async (more: object) => {
      const asked = {
        id: row?.['id'] as string,
        kind: 'thing',
        resource: 'gate',
        execution: id,
        claim: claim as string,
        generation: generation as number,
        cancel: cancel as number,
        ...more,
      };
      const { rows } = await poolOf(database.worker).query('select open_lease($1, $2, $3::jsonb) as answer', [tenant.organizationId, tenant.projectId, JSON.stringify(asked)]);
      return (rows[0] as { answer: object }).answer;
    };
    expect(await ask({})).toEqual({ outcome: 'registered' });
    expect(await ask({ id: claim as string })).toMatchObject({ outcome: 'held', state: 'open', executionId: id, node: 'answers', left: false });
    expect(await ask({ id: claim as string, resource: 'other', claim: row?.['id'] as string })).toEqual({ outcome: 'refused' });
    unmark('gate.busy');
    await ended(id);
    const again = await poolOf(database.worker).query(`select move_lease($1, $2, $3, 'closing', null) as answer`, [tenant.organizationId, tenant.projectId, row?.['id']]);
    expect(again.rows).toEqual([{ answer: 'closed' }]);
    expect(await leasesOf(id)).toHaveLength(1);
  });

  test('a close that fails is stored with its cause, refuses others, and is tried again', async () => {
    const harness = await start('stuck');
    mark('lid.stuck');
    const id = await lease('lid');
    const [row] = await leased(id, 'close_failed');
    expect(row?.['error_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(['close_failed', 'closing']).toContain((await ended(await lease('lid'))).cursor.outcome);
    unmark('lid.stuck');
    expect(await ended(id)).toMatchObject({ state: 'completed', generation: 1, failure_category: null, error_id: null });
    expect(await leasesOf(id)).toMatchObject([{ state: 'closed', error_id: row?.['error_id'] }]);
    expect(harness.errors.map(({ category }) => category)).toEqual(['close_failed:thing']);
  });

  test('a lease lost while a close is tried: the work goes on elsewhere without the thing, and its old owner alone closes it', async () => {
    const harness = await start('lost');
    mark('hatch.stuck');
    const id = await lease('hatch');
    await leased(id, 'close_failed');
    await superuser.query(`update node set epoch = epoch + 5 where name = 'lost'`);
    expect(await ended(id)).toMatchObject({ state: 'completed', cursor: { outcome: 'unknown' }, generation: 2 });
    expect(existsSync(join(yard, 'hatch'))).toBe(true);
    unmark('hatch.stuck');
    await leased(id, 'closed');
    expect(existsSync(join(yard, 'hatch'))).toBe(false);
    expect(await leasesOf(id)).toMatchObject([{ generation: 1 }]);
    expect(harness.errors.map(({ category }) => category)).toEqual(['close_failed:thing', 'lease_lost']);
  });

  test('a node that leaves while a close is tried ends, hands the work over unfinished, and a driver may prove the release later', async () => {
    const harness = await start('leaver');
    mark('vault.stuck');
    const id = await lease('vault');
    await leased(id, 'close_failed');
    await stop(harness);
    expect(await head(id)).toMatchObject({ state: 'running', owner: null, stalls: 0, cursor: { outcome: null } });
    await start('heir');
    expect(await ended(id)).toMatchObject({ state: 'completed', cursor: { outcome: 'unknown' }, generation: 2 });
    expect(await leasesOf(id)).toMatchObject([{ state: 'unknown', owner: 'leaver' }]);
    // The thing is still there: nothing is proved. Then it is gone.
    expect(await ended(await lease('vault', { proves: true }))).toMatchObject({ cursor: { outcome: 'unknown' } });
    unmark('vault.stuck');
    unmark('vault');
    expect(await ended(await lease('vault'))).toMatchObject({ cursor: { outcome: 'unknown' } });
    expect(await ended(await lease('vault', { proves: true }))).toMatchObject({ cursor: { outcome: 'taken' } });
    expect(await leasesOf(id)).toMatchObject([{ state: 'closed', owner: 'leaver' }]);
  });
});
