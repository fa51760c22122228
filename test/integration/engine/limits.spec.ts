import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import type { CallSpec } from '@engine/calls.js';
import type { WireGate } from '@engine/commit-item.js';
import { revokeIdentity, revokeWork } from '@engine/executions.js';
import type { Head } from '@engine/head.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitBatch, itemOf, joinAs, releaseAll } from './by-hand.js';

type Cursor = { readonly limit?: string; readonly size?: number; readonly bucket?: string; readonly refill?: number; readonly done?: boolean };
const outside = { now: 0, most: 0, sends: 0, hold: null as Promise<void> | null };

class LimitedPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(LimitedPhase)
class LimitedHandler implements ICommandHandler<LimitedPhase> {
  async execute({ run }: LimitedPhase) {
    const { limit, size, bucket, refill = 100 } = run.execution.cursor;
    const spec: CallSpec<{ used: number }> = {
      step: 1,
      name: 'call',
      kind: 'test',
      safety: 'repeatable',
      ...(limit ? { permit: { limit, size: size ?? 5 } } : {}),
      ...(bucket ? { tokens: { bucket, amount: 10, capacity: 20, refillPerSecond: refill, used: ({ used }) => used } } : {}),
    };
    await run.call(spec, async () => {
      outside.now += 1;
      outside.sends += 1;
      outside.most = Math.max(outside.most, outside.now);
      await outside.hold;
      await new Promise((resolve) => setImmediate(resolve));
      outside.now -= 1;
      return { used: 10 };
    });
    run.finish({ ...run.execution.cursor, done: true });
  }
}

@Workflow('limited', { version: 1 })
@Injectable()
class LimitedSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done ? end('completed') : phase(LimitedPhase);
  }
}

describe('shared limits', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let epoch: string;
  const tenant = newTenant();
  const node = 'by-hand';
  const permits = (limit: string) => rowsOf(superuser, 'select execution_id, state, generation, expires_at from permit where limit_name = $1 order by number', [limit]);
  const serve = async (): Promise<string[]> => {
    await worker.query('select grant_permits()');
    return ((await worker.query('select id from wake_permitted() as id')).rows as { id: string }[]).map(({ id }) => id);
  };

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
    epoch = await joinAs(worker, node);
  });
  beforeEach(() => Object.assign(outside, { now: 0, most: 0, sends: 0, hold: null }));
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  let workflows = 0;
  async function owned(count: number): Promise<Head[]> {
    const workflow = `limited-${(workflows += 1)}`;
    for (let index = 0; index < count; index += 1) await admit(database, tenant, workflow);
    return claimAs(worker, node, epoch, workflow);
  }
  const named = { step: 1, name: 'call', attempt: 1 };
  const opens = (head: Head, gate: WireGate) => itemOf(head, { calls: [{ ...named, to: 'sending', kind: 'test', safety: 'repeatable', key: 'key', limited: true, gate }] });
  const askWith = async (head: Head, gate: WireGate) => {
    const { rows } = await worker.query('select o_outcome as outcome, o_gate as gate from commit_batch($1::jsonb, false)', [JSON.stringify([opens(head, gate)])]);
    return rows[0] as { outcome: string; gate: { waits?: true; until?: string; refused?: string } | null };
  };
  const move = (head: Head, to: string, more: object = {}) =>
    commitBatch(worker, [itemOf({ ...head, commitNumber: 1 }, { calls: [{ ...named, move: ['sending'], to, limited: true, ...more }] })]);
  const placeIn = (limit: string, size = 1): WireGate => ({ permit: { limit, size, timeoutMs: 60_000 } });

  describe('a permit', () => {
    test('goes to the first that ask; the others wait in order, and each is woken when its place is free', async () => {
      const [a, b, c] = (await owned(3)) as [Head, Head, Head];
      expect(await askWith(a, placeIn('order'))).toEqual({ outcome: 'applied', gate: null });
      // The answer was lost: the call's row has it.
      expect(await askWith(a, placeIn('order'))).toEqual({ outcome: 'already', gate: null });
      expect(await askWith(b, placeIn('order'))).toMatchObject({ outcome: 'applied', gate: { waits: true } });
      expect(await askWith(b, placeIn('order'))).toMatchObject({ outcome: 'already', gate: { waits: true } });
      expect(await askWith(c, placeIn('order'))).toMatchObject({ gate: { waits: true } });
      expect(await serve()).toEqual([]);
      await move(a, 'succeeded');
      expect(await serve()).toEqual([b.id]);
      expect(await serve()).toEqual([]);
      expect((await permits('order')).map(({ execution_id, state }) => [execution_id, state])).toEqual([
        [b.id, 'held'],
        [c.id, 'waiting'],
      ]);
      // An owner that is about to wait is refused by the count of its head.
      expect((await commitBatch(worker, [itemOf({ ...b, commitNumber: 1 }, { to: 'waiting', do: 'park', until: null, seen: 0 })])).get(b.id)?.outcome).toBe('refused');
    });

    test('that comes after the right to act was taken away lets nothing out: the call that waited for it is refused', async () => {
      const identityId = uuidv7();
      const workflow = `limited-${(workflows += 1)}`;
      for (const more of [{}, { identityId }]) await admit(database, tenant, workflow, {}, more);
      const [a, b] = (await claimAs(worker, node, epoch, workflow)) as [Head, Head];
      const [holder, waiter] = a.identityId === null ? [a, b] : [b, a];
      const gate = { ...placeIn('revoked'), identity: identityId };
      await askWith(holder, placeIn('revoked'));
      expect(await askWith(waiter, gate)).toMatchObject({ gate: { waits: true } });
      await transact(database.api, tenant, async (tx) => ok(await revokeIdentity(tx, identityId)));
      await move(holder, 'succeeded');
      expect(await serve()).toEqual([waiter.id]);
      const again = itemOf({ ...waiter, commitNumber: 1 }, { calls: [{ ...named, move: ['intent'], to: 'sending', limited: true, gate }] });
      expect((await commitBatch(worker, [again])).get(waiter.id)).toMatchObject({ outcome: 'applied' });
      expect(await rowsOf(superuser, 'select state, failure_category from execution_call where execution_id = $1', [waiter.id])).toEqual([
        { state: 'abandoned', failure_category: 'identity_revoked' },
      ]);
    });

    test('is not freed by a takeover: it moves to the next owner, and ends with the time of the call that is given up', async () => {
      const [a, b] = (await owned(2)) as [Head, Head];
      await askWith(a, placeIn('takeover'));
      await askWith(b, placeIn('takeover'));
      await releaseAll(worker, node, epoch);
      expect(await serve()).toEqual([]);
      const next = (await claimAs(worker, node, epoch, a.workflow)).find(({ id }) => id === a.id)!;
      await move(next, 'abandoned');
      expect(await permits('takeover')).toMatchObject([{ execution_id: a.id, state: 'held', generation: 2 }, { state: 'waiting' }]);
      expect(await serve()).toEqual([]);
      await superuser.query(`update permit set expires_at = clock_timestamp() where execution_id = $1`, [a.id]);
      expect(await serve()).toEqual([b.id]);
    });

    test('of a call that was given up ends with its late result', async () => {
      const [a, b] = (await owned(2)) as [Head, Head];
      await askWith(a, placeIn('late'));
      await askWith(b, placeIn('late'));
      await move(a, 'abandoned');
      await worker.query('select late_result($1, $2, $3, $4::jsonb)', [
        tenant.organizationId,
        tenant.projectId,
        a.id,
        { ...named, move: ['sending'], to: 'succeeded', result: 'AAAA', limited: true },
      ]);
      expect(await serve()).toEqual([b.id]);
    });

    test('is free at once where no byte was sent, and from the queue', async () => {
      const [a, b, c] = (await owned(3)) as [Head, Head, Head];
      for (const head of [a, b, c]) await askWith(head, placeIn('unsent'));
      await commitBatch(worker, [itemOf({ ...b, commitNumber: 1 }, { calls: [{ ...named, move: ['intent'], to: 'abandoned', limited: true, unsent: true }] })]);
      await move(a, 'abandoned', { unsent: true });
      expect(await serve()).toEqual([c.id]);
    });
  });

  describe('a bucket', () => {
    const tokens = (bucket: string, amount: number): WireGate => ({ tokens: { bucket, amount, capacity: 100, refillPerSecond: 1 } });
    const levelOf = async (bucket: string) => (await rowsOf<{ level: number }>(superuser, 'select level from token_bucket where name = $1', [bucket]))[0]!.level;

    test('lets out what it has, and says to the others when theirs will be there', async () => {
      const [a, b, c] = (await owned(3)) as [Head, Head, Head];
      expect(await askWith(a, tokens('instants', 80))).toMatchObject({ gate: null });
      const later = [(await askWith(b, tokens('instants', 40))).gate, (await askWith(c, tokens('instants', 40))).gate].map((gate) => new Date(gate?.until ?? 0).getTime());
      expect((later[1] ?? 0) - (later[0] ?? 0)).toBeGreaterThan(39_000);
      expect(await askWith((await owned(1))[0]!, tokens('instants', 101))).toMatchObject({ gate: { refused: 'exceeds_bucket' } });
    });

    test('takes back what a call did not use, and more from one that used more', async () => {
      const [a, b, c] = (await owned(3)) as [Head, Head, Head];
      await askWith(a, tokens('settled', 80));
      await move(a, 'succeeded', { used: 30 });
      await askWith(b, tokens('settled', 10));
      expect(await levelOf('settled')).toBeCloseTo(60, -1);
      await move(b, 'succeeded', { used: 50 });
      await askWith(c, tokens('settled', 1));
      expect(await levelOf('settled')).toBeCloseTo(19, -1);
    });

    test('that has enough again after the right to act was taken away lets nothing out', async () => {
      const identityId = uuidv7();
      const workflow = `limited-${(workflows += 1)}`;
      await admit(database, tenant, workflow, {}, { identityId });
      const [[first], [waiter]] = [await owned(1), await claimAs(worker, node, epoch, workflow)] as [[Head], [Head]];
      const gate = { ...tokens('revoked', 40), identity: identityId };
      await askWith(first, tokens('revoked', 80));
      expect(await askWith(waiter, gate)).toMatchObject({ gate: { waits: true } });
      await transact(database.api, tenant, async (tx) => ok(await revokeIdentity(tx, identityId)));
      await superuser.query(`update token_bucket set level = 100 where name = 'revoked'`);
      const again = itemOf({ ...waiter, commitNumber: 1 }, { calls: [{ ...named, move: ['intent'], to: 'sending', limited: true, gate }] });
      await commitBatch(worker, [again]);
      expect(await rowsOf(superuser, 'select state, failure_category from execution_call where execution_id = $1', [waiter.id])).toEqual([
        { state: 'abandoned', failure_category: 'identity_revoked' },
      ]);
    });

    test('is not overspent by forty at once', async () => {
      const heads = await owned(40);
      const answers = await Promise.all(heads.map((head) => askWith(head, tokens('crowd', 10))));
      expect(answers.filter(({ gate }) => gate === null).length).toBeLessThanOrEqual(11);
      expect(answers.filter(({ gate }) => gate === null).length).toBeGreaterThanOrEqual(10);
      expect(await levelOf('crowd')).toBeLessThan(-270);
    });
  });

  describe('over two engines', () => {
    let engines: EngineHarness[];
    beforeAll(async () => {
      engines = await Promise.all(['one', 'two'].map((name) => startEngine(database, [LimitedHandler, LimitedSaga], { node: name })));
    });
    afterAll(() => Promise.all(engines.map((engine) => engine.stop())));
    const allEnd = async (ids: readonly string[]): Promise<void> =>
      void (await eventually(
        async () => (await rowsOf(superuser, `select 1 from execution where id = any ($1) and state = 'completed'`, [ids])).length === ids.length,
        Boolean,
        50_000,
      ));

    test('two hundred callers on five permits: never more than five are outside, and all end', async () => {
      let letGo = (): void => undefined;
      outside.hold = new Promise((resolve) => (letGo = resolve));
      const ids = await Promise.all(Array.from({ length: 200 }, () => admit(database, tenant, 'limited', { limit: 'crowd' })));
      await eventually(() => outside.now === 5);
      await eventually(async () => (await rowsOf(superuser, `select 1 from execution where id = any ($1) and state = 'waiting'`, [ids])).length >= 100);
      expect(outside.now).toBe(5);
      letGo();
      await allEnd(ids);
      expect(outside).toMatchObject({ most: 5, sends: 200 });
      expect(
        await eventually(
          () => permits('crowd'),
          (rows) => rows.length === 0,
        ),
      ).toEqual([]);
      expect(engines.flatMap(({ errors }) => errors)).toEqual([]);
    });

    test('a caller of a bucket whose rights end while it waits is cut, and never goes out', async () => {
      const slow = { bucket: 'slow', refill: 0.1 };
      await allEnd(await Promise.all([admit(database, tenant, 'limited', slow), admit(database, tenant, 'limited', slow)]));
      const memberId = uuidv7();
      const id = await admit(database, tenant, 'limited', slow, { memberId, identityId: uuidv7() });
      const stateOf = async () =>
        (await rowsOf<{ state: string; failure_category: string | null }>(superuser, 'select state, failure_category from execution where id = $1', [id]))[0]!;
      await eventually(stateOf, ({ state }) => state === 'waiting');
      const revoked = await transact(database.api, tenant, async (tx) => ok(await revokeWork(tx, { members: [memberId], projects: [tenant.projectId] })));
      expect(revoked).toEqual(ok([id]));
      for (const { wake } of engines) wake.publish([id]);
      expect(await eventually(stateOf, ({ state }) => state === 'failed')).toEqual({ state: 'failed', failure_category: 'identity_revoked' });
      expect(outside.sends).toBe(2);
    });

    test('callers of a bucket wake at their instant, and go out once each', async () => {
      const ids = await Promise.all(Array.from({ length: 10 }, () => admit(database, tenant, 'limited', { bucket: 'paced' })));
      await allEnd(ids);
      expect(outside.sends).toBe(10);
    });
  });
});
