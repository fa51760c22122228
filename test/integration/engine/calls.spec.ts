import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import type { CallOutcome, CallSpec, CallUsage, Reconciled } from '@engine/calls.js';
import { revokeIdentity } from '@engine/executions.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, poolOf, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { readonly safety: CallSpec<unknown>['safety']; readonly onUnknown?: 'stop' | 'retry'; readonly timeoutMs?: number; readonly steps?: number; readonly done?: number };
const spent: CallUsage = {
  provider: 'outside',
  model: 'outside',
  source: 'test',
  status: 'confirmed',
  inputTokens: 3,
  outputTokens: 5,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  estimatedInputTokens: 4,
};
type Said = { readonly said: string };
type Answer = Reconciled<Said> | Error;

/** The outside of one execution: how its sends go, one after another, and what it says when it is asked. */
class Outside {
  sends: string[] = [];
  asked = 0;
  outcomes: CallOutcome<Said>[] = [];
  failing = 0;
  answers: Answer[] = [];
  held: Promise<void> | null = null;
}
const outsides = new Map<string, Outside>();
const outsideOf = (id: string): Outside => {
  const outside = outsides.get(id) ?? new Outside();
  outsides.set(id, outside);
  return outside;
};

class AskPhase {
  constructor(
    readonly run: PhaseRun<Cursor>,
    readonly args: { step: number },
  ) {}
}

@CommandHandler(AskPhase)
class AskHandler implements ICommandHandler<AskPhase> {
  async execute({ run, args: { step } }: AskPhase) {
    const { cursor, id } = run.execution;
    const outside = outsideOf(id);
    const spec: CallSpec<Said> = {
      step,
      name: 'call',
      kind: 'test',
      safety: cursor.safety,
      usage: () => spent,
      lostUsage: { ...spent, status: 'unknown', inputTokens: null, outputTokens: null },
      ...(cursor.onUnknown ? { onUnknown: cursor.onUnknown } : {}),
      ...(cursor.timeoutMs ? { timeoutMs: cursor.timeoutMs } : {}),
      reconcile: ({ providerKey }) => {
        expect(providerKey).toBe(`${id}:${step}:call`);
        outside.asked += 1;
        const answer = outside.answers.shift() ?? new Error('nothing to answer');
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    };
    const outcome = await run.call(spec, async ({ attempt, signal }) => {
      outside.sends.push(`${step}:${attempt}`);
      if (outside.held) await Promise.race([outside.held, new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))]);
      if (outside.failing-- > 0) throw new Error('the socket was cut');
      return { said: 'sent' };
    });
    outside.outcomes.push(outcome);
    run.emit({ _tag: 'Text', step, attempt: outcome.attempt, delta: outcome.kind === 'result' ? outcome.result.said : outcome.kind });
    run.finish({ ...cursor, done: step });
  }
}

@Workflow('asks', { version: 1 })
@Injectable()
class AsksSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    const done = cursor.done ?? 0;
    return done >= (cursor.steps ?? 1) ? end('completed') : phase(AskPhase, { step: done + 1 });
  }
}

describe('outside calls', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let engines: EngineHarness[];
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const settled = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at, state, owner }) => ended_at !== null || (state === 'outcome_unknown' && owner === null),
    );
  const calls = (id: string) =>
    rowsOf(superuser, 'select step, attempt, state, late, decided, failure_category from execution_call where execution_id = $1 order by step, attempt', [id]);
  const said = async (id: string) => (await logOf(superuser, engines[0]!.sealing, tenant.organizationId, id)).flatMap((event) => (event._tag === 'Text' ? [event.delta] : []));
  /** Work whose outside is prepared before anybody takes it. */
  const work = async (cursor: Cursor, prepare: (outside: Outside) => void, identityId: string | null = null): Promise<string> => {
    const id = uuidv7();
    prepare(outsideOf(id));
    return admit(database, tenant, 'asks', cursor, { id, identityId });
  };
  /** Another owner takes the work although its owner lives: as after a lease that was lost without being noticed. */
  const takeOver = async (id: string): Promise<void> => {
    const { generation } = await head(id);
    await superuser.query(`update execution set owner = null, epoch = null, claim_id = null, stalls = stalls + 1, runnable_at = '-infinity' where id = $1 and owner is not null`, [
      id,
    ]);
    await eventually(async () => ((await head(id)).generation as number) > (generation as number));
  };
  const revoke = (identityId: string) => transact(database.api, tenant, async (tx) => ok(await revokeIdentity(tx, identityId)));

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    engines = await Promise.all(['one', 'two'].map((node) => startEngine(database, [AskHandler, AsksSaga], { node })));
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await superuser.end();
    await database.close();
  });

  describe('reconcilable', () => {
    const cut = (answers: readonly Answer[]) => (outside: Outside) => Object.assign(outside, { failing: 1, answers: [...answers] });

    test('a send that was cut and is done: its result is saved, nothing is sent again', async () => {
      const id = await work({ safety: 'reconcilable' }, cut([{ kind: 'done', result: { said: 'it is done' } }]));
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      expect(outsideOf(id)).toMatchObject({ sends: ['1:1'], asked: 1, outcomes: [{ kind: 'result', replayed: true, attempt: 1 }] });
      expect(await calls(id)).toMatchObject([{ state: 'succeeded' }]);
      expect(await said(id)).toEqual(['it is done']);
    });

    test('a send that was cut and is proven not done: a failure', async () => {
      const id = await work({ safety: 'reconcilable' }, cut([{ kind: 'not-done' }]));
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      expect(outsideOf(id)).toMatchObject({ sends: ['1:1'], outcomes: [{ kind: 'failed', attempt: 1 }] });
      expect(await calls(id)).toMatchObject([{ state: 'failed', failure_category: 'call_failed' }]);
    });

    test('a provider that does not know: the call is unknown, and waits for a decision', async () => {
      const id = await work({ safety: 'reconcilable' }, cut([{ kind: 'unknown' }]));
      expect(await settled(id)).toMatchObject({ state: 'outcome_unknown' });
      expect(await calls(id)).toMatchObject([{ state: 'unknown', decided: null }]);
    });

    test('a question that fails is asked again, and is never taken for a no', async () => {
      const outages = [new Error('503'), new Error('reset'), new Error('timeout')];
      const id = await work({ safety: 'reconcilable' }, cut([...outages, { kind: 'done', result: { said: 'it is done' } }]));
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      expect(outsideOf(id)).toMatchObject({ sends: ['1:1'], asked: 4 });
      expect(engines.flatMap(({ errors }) => errors).filter(({ category, executionId }) => category === 'reconcile_failed' && executionId === id)).toHaveLength(1);
    });

    test('a new owner asks for the call of the one before: not done is sent anew, with the next attempt', async () => {
      let letGo = (): void => undefined;
      const id = await work({ safety: 'reconcilable' }, (outside) =>
        Object.assign(outside, { held: new Promise<void>((resolve) => (letGo = resolve)), answers: [{ kind: 'not-done' }] }),
      );
      await eventually(() => outsideOf(id).sends.length === 1);
      outsideOf(id).held = null;
      await takeOver(id);
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      letGo();
      expect(outsideOf(id)).toMatchObject({ sends: ['1:1', '1:2'], asked: 1 });
      await eventually(async () => (await calls(id))[0]?.['late'] as boolean);
      expect(await calls(id)).toMatchObject([
        { attempt: 1, state: 'abandoned', late: true },
        { attempt: 2, state: 'succeeded' },
      ]);
    });
  });

  describe('a decision that was saved with the call', () => {
    test.each(['stop', 'retry'] as const)('%s: by the owner whose send was cut', async (onUnknown) => {
      const id = await work({ safety: 'unproven', onUnknown }, (outside) => (outside.failing = 1));
      expect(await settled(id)).toMatchObject({ state: 'completed', generation: 1 });
      expect(outsideOf(id).sends).toEqual(onUnknown === 'stop' ? ['1:1'] : ['1:1', '1:2']);
      expect((await calls(id))[0]).toMatchObject({ state: 'unknown', decided: onUnknown });
      expect(await said(id)).toEqual([onUnknown === 'stop' ? 'stopped' : 'sent']);
    });

    test.each(['stop', 'retry'] as const)('%s: by a new owner, that asks nobody; a late result is history', async (onUnknown) => {
      let letGo = (): void => undefined;
      const id = await work({ safety: 'unproven', onUnknown }, (outside) => void (outside.held = new Promise((resolve) => (letGo = resolve))));
      await eventually(() => outsideOf(id).sends.length === 1);
      outsideOf(id).held = null;
      await takeOver(id);
      expect(await settled(id)).toMatchObject({ state: 'completed', generation: 2 });
      letGo();
      await eventually(async () => (await calls(id))[0]?.['late'] as boolean);
      expect((await calls(id))[0]).toMatchObject({ state: 'unknown', decided: onUnknown, late: true });
      expect(outsideOf(id).sends).toEqual(onUnknown === 'stop' ? ['1:1'] : ['1:1', '1:2']);
      expect(await said(id)).toEqual([onUnknown === 'stop' ? 'stopped' : 'sent']);
      expect(await head(id)).toMatchObject({ state: 'completed', generation: 2 });
    });
  });

  test('the late result of an unproven call wakes the owner that waits for a decision, and is its result', async () => {
    let letGo = (): void => undefined;
    const id = await work({ safety: 'unproven', steps: 2 }, (outside) => void (outside.held = new Promise((resolve) => (letGo = resolve))));
    await eventually(() => outsideOf(id).sends.length === 1);
    outsideOf(id).held = null;
    await takeOver(id);
    expect(await settled(id)).toMatchObject({ state: 'outcome_unknown' });
    letGo();
    await eventually(async () => (await head(id)).ended_at as Date | null);
    expect(outsideOf(id).sends).toEqual(['1:1', '2:1']);
    expect(await calls(id)).toMatchObject([
      { state: 'succeeded', late: true },
      { state: 'succeeded', late: false },
    ]);
    expect(await said(id)).toEqual(['sent', 'sent']);
    expect(await rowsOf(superuser, 'select name, consumed is not null as consumed from execution_signal where execution_id = $1', [id])).toEqual([
      { name: 'call-result', consumed: true },
    ]);
    expect(engines.flatMap(({ points }) => points)).toContain('call:late-saved');
  });

  describe('what a call cost whose sender lost its work', () => {
    const counted = (id: string) =>
      rowsOf(superuser, 'select attempt, status, input_tokens as input, estimated_input_tokens as estimate from usage_entry where execution_id = $1 order by attempt', [id]);
    const once = [{ attempt: 1, status: 'confirmed', input: '3', estimate: '4' }];

    /** Each attempt is outside until it is let go. */
    async function bothOutside(safety: Cursor['safety']) {
      const letGo: (() => void)[] = [];
      const hold = (outside: Outside) => void (outside.held = new Promise((resolve) => letGo.push(resolve)));
      const id = await work({ safety }, hold);
      const sends = (count: number) => eventually(() => outsideOf(id).sends.length === count);
      await sends(1);
      hold(outsideOf(id));
      await takeOver(id);
      await sends(2);
      const answered = (attempt: number, known: (call: Record<string, unknown>) => unknown) =>
        eventually(
          () => calls(id),
          (all) => Boolean(known(all[attempt - 1] ?? {})),
        );
      return { id, letGo, answered };
    }

    test('keyed: its provider did it once, whichever attempt answers first', async () => {
      for (const first of [1, 2]) {
        const { id, letGo, answered } = await bothOutside('keyed');
        expect(await counted(id)).toEqual([{ ...once[0], status: 'unknown', input: null }]);
        for (const attempt of [first, 3 - first]) {
          letGo[attempt - 1]!();
          await answered(attempt, ({ state, late }) => (attempt === 1 ? late : state === 'succeeded'));
          expect(await counted(id)).toEqual(once);
        }
        expect(await settled(id)).toMatchObject({ state: 'completed', generation: 2 });
        expect(await calls(id)).toMatchObject([
          { attempt: 1, state: 'abandoned', late: true },
          { attempt: 2, state: 'succeeded', late: false },
        ]);
        expect(await counted(id)).toEqual(once);
      }
    });

    test('repeatable: each attempt was work of its own', async () => {
      const { id, letGo, answered } = await bothOutside('repeatable');
      for (const go of letGo) go();
      await answered(1, ({ late }) => late);
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      expect(await counted(id)).toEqual([once[0], { ...once[0], attempt: 2 }]);
    });
  });

  test('a send that takes longer than its time: unknown when it may not be repeated', async () => {
    const never = (outside: Outside) => void (outside.held = new Promise(() => undefined));
    const id = await work({ safety: 'unproven', timeoutMs: 50 }, never);
    expect(await settled(id)).toMatchObject({ state: 'outcome_unknown' });
  });

  describe('an identity whose right was taken away', () => {
    test.each(['repeatable', 'keyed', 'reconcilable', 'unproven'] as const)('%s: nothing is sent any more, on any node', async (safety) => {
      const identity = uuidv7();
      let letGo = (): void => undefined;
      const id = await work({ safety, steps: 2 }, (outside) => void (outside.held = new Promise((resolve) => (letGo = resolve))), identity);
      await eventually(() => outsideOf(id).sends.length === 1);
      expect(await revoke(identity)).toEqual({ ok: true, value: true });
      expect(await revoke(identity)).toEqual({ ok: true, value: false });
      letGo();
      expect(await settled(id)).toMatchObject({ state: 'completed' });
      expect(outsideOf(id).sends).toEqual(['1:1']);
      expect(outsideOf(id).outcomes).toMatchObject([{ kind: 'result' }, { kind: 'not-passed', reason: 'identity_revoked', attempt: 1 }]);
      expect(await calls(id)).toMatchObject([{ state: 'succeeded' }, { step: 2, state: 'abandoned', failure_category: 'identity_revoked' }]);
      // What acts with another identity is not concerned.
      const other = await work({ safety }, () => undefined, uuidv7());
      expect(await settled(other)).toMatchObject({ state: 'completed' });
      expect(outsideOf(other).sends).toEqual(['1:1']);
    });

    test('a gate that meets a revocation on its way waits for what becomes of it', async () => {
      const [kept, lost] = [uuidv7(), uuidv7()];
      const client = await poolOf(database.api).connect();
      const sent = async (identity: string, then: 'commit' | 'rollback'): Promise<string> => {
        await client.query(`begin; select set_config('app.organization', '${tenant.organizationId}', true)`);
        await client.query('select revoke_identity($1)', [identity]);
        const id = await work({ safety: 'repeatable' }, () => undefined, identity);
        await eventually(
          async () =>
            (
              await rowsOf(
                superuser,
                `select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
              )
            ).length > 0,
        );
        expect(outsideOf(id).sends).toEqual([]);
        await client.query(then);
        await settled(id);
        return id;
      };
      expect(outsideOf(await sent(lost, 'commit')).sends).toEqual([]);
      expect(outsideOf(await sent(kept, 'rollback')).sends).toEqual(['1:1']);
      client.release();
    });
  });
});
