import { Pool } from 'pg';
import type { CommitItem } from '@engine/commit-item.js';
import { Committer } from '@engine/committer.js';
import type { Head } from '@engine/head.js';
import { requestCancel, sendSignal } from '@engine/executions.js';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, cancel, newTenant, poolOf, rowsOf, signal } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, commitBatch, itemOf, joinAs, releaseAll } from './by-hand.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

describe('the write fence', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let epoch: string;
  const tenant = newTenant();
  const node = 'by-hand';
  const stored = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
    await createProbeFeature(superuser);
    epoch = await joinAs(worker, node);
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  /** Work of a workflow of its own, owned by this test. */
  let workflows = 0;
  async function owned(count = 1): Promise<Head[]> {
    const workflow = `hand-${(workflows += 1)}`;
    for (let index = 0; index < count; index += 1) await admit(database, tenant, workflow, {}, { subjectId: await newProbe(superuser, tenant) });
    const heads = await claimAs(worker, node, epoch, workflow);
    expect(heads).toHaveLength(count);
    return heads.sort((a, b) => (a.id < b.id ? -1 : 1));
  }
  const one = async (): Promise<Head> => (await owned())[0]!;
  const rowOf = (head: Head, number: number): Partial<CommitItem> => ({ feature: 'probe', aggregate: head.subjectId ?? '', rows: { number } });

  describe('a commit by its number', () => {
    test('already: the same bytes again, also behind later commits, write nothing', async () => {
      const head = await one();
      const first = itemOf(head, { ...rowOf(head, 1), events: [{ t: 'Text', step: 1, attempt: 1, b: 'AAAA' }] });
      expect(await commitAlone(worker, first)).toBe('applied');
      expect(await commitAlone(worker, first)).toBe('already');
      expect(await commitAlone(worker, itemOf({ ...head, commitNumber: 1 }))).toBe('applied');
      expect(await commitAlone(worker, first)).toBe('already');
      expect(await rowsOf(superuser, 'select number from probe_row where execution_id = $1', [head.id])).toEqual([{ number: 1 }]);
      expect(await stored(head.id)).toMatchObject({ commit_number: 2, sequence: 2 });
    });

    test('the same bytes on ten connections at once: one of them is the commit', async () => {
      const head = await one();
      const item = itemOf(head, rowOf(head, 1));
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => commitAlone(worker, item)));
      expect(outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'already')).toHaveLength(9);
      expect(await rowsOf(superuser, 'select count(*)::int as rows from probe_row where execution_id = $1', [head.id])).toEqual([{ rows: 1 }]);
    });

    test('a number that is not the next is refused', async () => {
      const head = await one();
      expect(await commitAlone(worker, itemOf(head, { n: 2 }))).toBe('refused');
      expect(await stored(head.id)).toMatchObject({ commit_number: 0 });
    });

    test('refused and not already: a claim that a crash of the database undid, whose generation the next claim has', async () => {
      const lost = await one();
      const workflow = lost.workflow;
      await superuser.query(
        `update execution set owner = null, epoch = null, claim_id = null, last_claim_id = null, generation = generation - 1, state = 'queued', started_at = null, runnable_at = '-infinity' where id = $1`,
        [lost.id],
      );
      const [next] = await claimAs(worker, node, epoch, workflow);
      expect(next).toMatchObject({ id: lost.id, generation: lost.generation });
      for (const n of [1, 2]) expect(await commitAlone(worker, itemOf(next as Head, { n }))).toBe('applied');
      for (const n of [1, 2, 3]) expect(await commitAlone(worker, itemOf(lost, { n }))).toBe('refused');
      for (const n of [1, 2]) expect(await commitAlone(worker, itemOf(next as Head, { n }))).toBe('already');
    });

    test('an epoch that no number of JSON can say is its owner’s all the same', async () => {
      await superuser.query(`insert into node (name, epoch) values ('aged', 9007199254740992)`);
      const id = await admit(database, tenant, 'aged');
      const [head] = await claimAs(worker, 'aged', await joinAs(worker, 'aged'), 'aged');
      expect(head).toMatchObject({ id, epoch: '9007199254740993' });
      expect(await commitAlone(worker, itemOf(head!))).toBe('applied');
    });

    test('gone: deleted work', async () => {
      const head = await one();
      await superuser.query('delete from execution where id = $1', [head.id]);
      expect(await commitAlone(worker, itemOf(head))).toBe('gone');
    });
  });

  describe('an owner that is none any more', () => {
    test('is refused while nobody owns it, under its next owner, and after the end', async () => {
      const head = await one();
      expect(await releaseAll(worker, node, epoch)).toBeGreaterThan(0);
      expect(await commitAlone(worker, itemOf(head))).toBe('refused');
      const [next] = await claimAs(worker, node, epoch, head.workflow);
      expect(next).toMatchObject({ id: head.id, generation: 2 });
      expect(await commitAlone(worker, itemOf(head))).toBe('refused');
      expect(await commitAlone(worker, itemOf(next!, { to: 'completed', do: 'end', seen: 0 }))).toBe('applied');
      expect(await commitAlone(worker, itemOf(head))).toBe('refused');
      expect(await stored(head.id)).toMatchObject({ state: 'completed', commit_number: 1, owner: null, runnable_at: null });
    });

    test.each<[string, Partial<CommitItem>]>([
      ['claim', { claim: '00000000-0000-4000-8000-000000000000' }],
      ['epoch', { epoch: '999' }],
      ['node', { owner: 'another' }],
      ['generation', { g: 9 }],
      ['state', { from: ['waiting'] }],
    ])('is refused by its %s', async (_, wrong) => {
      const head = await one();
      expect(await commitAlone(worker, { ...itemOf(head), ...wrong })).toBe('refused');
    });
  });

  describe('what moved in between', () => {
    test('a release that has not seen the last signal is refused, a handover is not', async () => {
      const head = await one();
      await signal(database, tenant, head.id, 'late');
      expect(await commitAlone(worker, itemOf(head, { to: 'waiting', do: 'wait', until: null, seen: 0 }))).toBe('refused');
      expect(await commitAlone(worker, itemOf(head, { do: 'yield' }))).toBe('applied');
      expect(await stored(head.id)).toMatchObject({ owner: null, runnable_at: Number.NEGATIVE_INFINITY, stalls: 0 });
    });

    test('a commit that does not know of the cancel is refused, and the cancel number repeats in nothing', async () => {
      const head = await one();
      await cancel(database, tenant, head.id);
      await cancel(database, tenant, head.id);
      expect(await commitAlone(worker, itemOf(head))).toBe('refused');
      expect(await commitAlone(worker, itemOf({ ...head, state: 'cancelling', cancelNumber: 1 }, { to: 'cancelled', do: 'end', seen: 1 }))).toBe('refused');
      expect(await commitAlone(worker, itemOf({ ...head, state: 'cancelling', cancelNumber: 2 }, { to: 'cancelled', do: 'end', seen: 2 }))).toBe('applied');
      const answer = await cancel(database, tenant, head.id);
      expect(answer).toMatchObject({ ok: true, value: { number: 2, state: 'cancelled' } });
      expect(await rowsOf(superuser, `select state from execution_event where execution_id = $1 and state = 'cancelling'`, [head.id])).toHaveLength(1);
    });

    test('a call that is not where the move says refuses the whole commit', async () => {
      const head = await one();
      const call = { step: 1, name: 'call', attempt: 1 };
      const opened = { ...call, kind: 'test', safety: 'unproven' as const, key: 'k', to: 'intent' };
      expect(await commitAlone(worker, itemOf(head, { calls: [opened] }))).toBe('applied');
      const second = { ...head, commitNumber: 1 };
      expect(await commitAlone(worker, itemOf(second, { ...rowOf(head, 1), calls: [{ ...call, move: ['sending'], to: 'succeeded' }] }))).toBe('refused');
      expect(await commitAlone(worker, itemOf(second, { calls: [{ ...call, attempt: 2, move: ['intent'], to: 'sending' }] }))).toBe('refused');
      expect(await rowsOf(superuser, 'select 1 from probe_row where execution_id = $1', [head.id])).toEqual([]);
      expect(await stored(head.id)).toMatchObject({ commit_number: 1 });
    });
  });

  describe('a batch', () => {
    test('what others hold is busy, and stalls nobody beside it', async () => {
      const [held, free, locked] = (await owned(3)) as [Head, Head, Head];
      const other = await superuser.connect();
      try {
        await other.query('begin');
        await other.query('select 1 from execution where id = $1 for no key update', [held.id]);
        await other.query('select 1 from probe where id = $1 for no key update', [locked.subjectId]);
        const answers = await commitBatch(
          worker,
          [held, free, locked].map((head) => itemOf(head, rowOf(head, 1))),
          true,
        );
        expect([held, free, locked].map(({ id }) => answers.get(id)?.outcome)).toEqual(['busy', 'applied', 'busy']);

        const committer = new Committer(worker);
        const waits = [held, locked].map((head) => committer.submit(itemOf(head, rowOf(head, 1))));
        await committer.submit(itemOf({ ...free, commitNumber: 1 }));
        await eventually(
          () => rowsOf(superuser, `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
          (rows) => rows.length === 2,
        );
        await other.query('commit');
        expect((await Promise.all(waits)).map(({ outcome }) => outcome)).toEqual(['applied', 'applied']);
      } finally {
        other.release(true);
      }
    });

    test('bad data fails its own commit alone', async () => {
      const heads = await owned(5);
      const committer = new Committer(worker);
      const settled = await Promise.allSettled(heads.map((head, index) => committer.submit(itemOf(head, rowOf(head, index === 2 ? -1 : index)))));
      expect(settled.map((result) => (result.status === 'fulfilled' ? result.value.outcome : (result.reason as { code?: string }).code))).toEqual([
        'applied',
        'applied',
        '23514',
        'applied',
        'applied',
      ]);
      expect(committer.counts.batches).toBe(1);
      expect((await stored(heads[2]!.id)).commit_number).toBe(0);
    });
  });

  describe('against each other', () => {
    test('a cancel and an end: one of both, never half', async () => {
      const heads = await owned(60);
      const ends = await Promise.all(
        heads.map(async (head) => {
          const [outcome] = await Promise.all([commitAlone(worker, itemOf(head, { to: 'completed', do: 'end', seen: 0 })), cancel(database, tenant, head.id)]);
          return [head, outcome] as const;
        }),
      );
      for (const [head, outcome] of ends) {
        const { state, cancel_number, signal_count } = await stored(head.id);
        expect({ outcome, state, cancel_number, signal_count }).toEqual(
          outcome === 'applied'
            ? { outcome, state: 'completed', cancel_number: 0, signal_count: 0 }
            : { outcome: 'refused', state: 'cancelling', cancel_number: 1, signal_count: 1 },
        );
      }
    });

    test('a signal and a wait: seen or ready again, never asleep over it', async () => {
      const heads = await owned(60);
      const waits = await Promise.all(
        heads.map(async (head) => {
          const [outcome] = await Promise.all([commitAlone(worker, itemOf(head, { to: 'waiting', do: 'wait', until: null, seen: 0 })), signal(database, tenant, head.id, 'go')]);
          return [head, outcome] as const;
        }),
      );
      for (const [head, outcome] of waits) {
        const { state, runnable_at, owner } = await stored(head.id);
        expect({ outcome, state, runnable_at, owner }).toEqual(
          outcome === 'applied'
            ? { outcome, state: 'waiting', runnable_at: Number.NEGATIVE_INFINITY, owner: null }
            : { outcome: 'refused', state: 'running', runnable_at: null, owner: node },
        );
      }
    });

    test('two cancels at once have two numbers and one event', async () => {
      const head = await one();
      const answers = await Promise.all([cancel(database, tenant, head.id), cancel(database, tenant, head.id)]);
      expect(answers.map((answer) => answer.ok && answer.value?.number).sort()).toEqual([1, 2]);
      expect(await rowsOf(superuser, `select 1 from execution_event where execution_id = $1 and state = 'cancelling'`, [head.id])).toHaveLength(1);
    });

    test('a numbered signal that is sent twenty times at once counts once', async () => {
      const head = await one();
      const sent = await Promise.all(Array.from({ length: 20 }, () => signal(database, tenant, head.id, 'once', 7)));
      expect(sent.filter((answer) => answer.ok && answer.value === 7)).toHaveLength(1);
      expect(await stored(head.id)).toMatchObject({ signal_count: 1 });
    });

    test('a decision and a cancel: both count, and the cancel waits for no second decision', async () => {
      const heads = await owned(20);
      const call = { step: 1, name: 'call', attempt: 1 };
      for (const head of heads) {
        await commitAlone(worker, itemOf(head, { calls: [{ ...call, kind: 'test', safety: 'unproven', key: 'k', to: 'sending' }] }));
        const unknown = itemOf({ ...head, commitNumber: 1 }, { calls: [{ ...call, move: ['sending'], to: 'unknown' }], to: 'outcome_unknown', do: 'wait', until: null, seen: 0 });
        expect(await commitAlone(worker, unknown)).toBe('applied');
      }
      await Promise.all(
        heads.map((head) =>
          Promise.all([
            cancel(database, tenant, head.id),
            transact(database.api, tenant, async (tx) => ok(await tx.query(`select decide_call($1, 1, 'call', 1, 'stop', null)`, [head.id]))),
            transact(database.api, tenant, async (tx) => ok(await tx.query(`select decide_call($1, 1, 'call', 1, 'retry', null)`, [head.id]))),
          ]),
        ),
      );
      for (const head of heads) {
        expect(await stored(head.id)).toMatchObject({ state: 'outcome_unknown', cancel_number: 1, signal_count: 2, runnable_at: Number.NEGATIVE_INFINITY });
        expect(await rowsOf(superuser, `select name from execution_signal where execution_id = $1 order by name`, [head.id])).toEqual([{ name: 'cancel' }, { name: 'decision' }]);
      }
    });

    test('batches, cancels and signals over the same rows in every order meet without a deadlock', async () => {
      const heads = await owned(12);
      const numbers = new Map(heads.map(({ id }) => [id, 0]));
      const shuffled = () => [...heads].sort(() => Math.random() - 0.5);
      const writer = async (): Promise<void> => {
        for (let round = 0; round < 40; round += 1) {
          const items = shuffled()
            .slice(0, 6)
            .map((head) => itemOf({ ...head, commitNumber: numbers.get(head.id) ?? 0 }, rowOf(head, 1)));
          for (const [id, { outcome }] of await commitBatch(worker, items)) {
            if (outcome === 'applied') numbers.set(id, (numbers.get(id) ?? 0) + 1);
            expect(['applied', 'already']).toContain(outcome);
          }
        }
      };
      const sender = async (): Promise<void> => {
        for (let round = 0; round < 60; round += 1)
          await transact(database.api, tenant, async (tx) => {
            const ids = shuffled()
              .slice(0, 3)
              .map(({ id }) => id);
            await tx.query('select 1 from execution where id = any ($1::uuid[]) order by id for no key update', [ids]);
            for (const id of ids) await sendSignal(tx, id, { name: 'ping' });
            return ok(undefined);
          });
      };
      const before = await deadlocks();
      // One writer: a head's commits come from its owner alone.
      await Promise.all([writer(), sender(), sender(), sender()]);
      expect(await deadlocks()).toBe(before);
      const totals = await rowsOf<{ id: string; commits: number; rows: number }>(
        superuser,
        `select x.id, x.commit_number as commits, (select count(*)::int from probe_row r where r.execution_id = x.id) as rows from execution x where x.id = any ($1)`,
        [heads.map(({ id }) => id)],
      );
      for (const { id, commits, rows } of totals) expect([commits, rows]).toEqual([numbers.get(id), numbers.get(id)]);
    });

    async function deadlocks(): Promise<number> {
      await superuser.query('select pg_stat_force_next_flush()');
      return Number((await rowsOf(superuser, 'select deadlocks from pg_stat_database where datname = current_database()'))[0]?.['deadlocks']);
    }
  });

  test('a cancel inside a transaction that is rolled back leaves nothing', async () => {
    const head = await one();
    await transact(database.api, tenant, async (tx) => {
      await requestCancel(tx, head.id);
      return { ok: false as const, failure: 'no' };
    });
    expect(await stored(head.id)).toMatchObject({ state: 'running', cancel_number: 0, signal_count: 0 });
    expect(await commitAlone(worker, itemOf(head))).toBe('applied');
  });
});
