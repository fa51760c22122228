import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool, type PoolClient } from 'pg';
import type { CallUsage } from '@engine/calls.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { readonly mode: 'answers' | 'is-stopped'; readonly done?: boolean };

const spent: CallUsage = {
  provider: 'test',
  model: 'test',
  source: 'turn',
  status: 'confirmed',
  inputTokens: 3,
  outputTokens: 5,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  estimatedInputTokens: 3,
};
const outside: { speak: () => void; answer: () => void; sent: boolean; ended: boolean } = { speak: () => undefined, answer: () => undefined, sent: false, ended: false };

class TalkPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

/** Streams a little text when it is told to, and has its answer when it is told to: whatever was asked of the work meanwhile. */
@CommandHandler(TalkPhase)
class TalkHandler implements ICommandHandler<TalkPhase> {
  async execute({ run }: TalkPhase) {
    const { mode } = run.execution.cursor;
    await run.call({ step: 1, name: 'model', kind: 'model', safety: 'repeatable', usage: () => spent }, async ({ attempt, signal }) => {
      const say = (delta: string) => run.emit({ _tag: 'Text', step: 1, attempt, delta });
      outside.sent = true;
      if (mode === 'is-stopped') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        say('the last word');
        throw new Error('stopped', { cause: signal.reason });
      }
      await new Promise<void>((resolve) => (outside.speak = resolve));
      say('half an answer');
      await new Promise<void>((resolve) => (outside.answer = resolve));
      return { said: 'the answer' };
    });
    run.finish({ mode, done: true });
    outside.ended = true;
  }
}

@Workflow('talk', { version: 1 })
@Injectable()
class TalkSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done ? end('completed') : phase(TalkPhase);
  }
}

describe('a flush of text that a cancel overtakes', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let other: PoolClient;
  let harness: EngineHarness;
  const tenant = newTenant();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const waitsForLock = (query: string) =>
    eventually(
      () => rowsOf(superuser, `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`, [query]),
      (rows) => rows.length > 0,
    );

  const texts = (id: string) => rowsOf(superuser, `select 1 from execution_event where execution_id = $1 and type = 'Text'`, [id]);
  const speakMeanwhile = async (): Promise<void> => {
    outside.sent = false;
    const id = await admit(database, tenant, 'talk', { mode: 'answers' });
    harness.wake.publish([id]);
    await eventually(() => outside.sent);
    outside.speak();
    await eventually(
      () => texts(id),
      (found) => found.length > 0,
    );
    outside.answer();
    await ended(id);
  };

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    other = await superuser.connect();
    harness = await startEngine(database, [TalkHandler, TalkSaga], { node: 'late-flush' });
  });
  beforeEach(() => Object.assign(outside, { sent: false, ended: false }));
  afterAll(async () => {
    other.release();
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  test('takes nothing of the answer that came meanwhile: the call and its usage are saved with the end', async () => {
    const id = await admit(database, tenant, 'talk', { mode: 'answers' });
    await eventually(() => outside.sent);
    await other.query('begin');
    await other.query('select 1 from execution where id = $1 for update', [id]);
    outside.speak();
    await waitsForLock('%commit_batch%');
    outside.answer();
    await eventually(() => outside.ended);
    await other.query('select request_cancel($1)', [id]);
    await other.query('commit');

    expect(await ended(id)).toMatchObject({ state: 'cancelled', generation: 1 });
    expect(await rowsOf(superuser, 'select state, ended_at is not null as ended from execution_call where execution_id = $1', [id])).toEqual([{ state: 'succeeded', ended: true }]);
    expect(await rowsOf(superuser, 'select status, input_tokens, output_tokens from usage_entry where execution_id = $1', [id])).toEqual([
      { status: 'confirmed', input_tokens: '3', output_tokens: '5' },
    ]);
    expect(harness.errors).toEqual([]);
  });

  test('does not begin while the cancel is read, and so costs the work neither its owner nor a report', async () => {
    const id = await admit(database, tenant, 'talk', { mode: 'is-stopped' });
    await eventually(() => outside.sent);
    await other.query('begin');
    await other.query('lock table execution_signal in access exclusive mode');
    await superuser.query(`update execution set state = 'cancelling', cancel_number = cancel_number + 1 where id = $1`, [id]);
    harness.wake.publish([id]);
    await waitsForLock('%load_work%');
    // Text that was said later is stored: by now the last word's own flush would have been sent, and refused by what the owner is about to read.
    await speakMeanwhile();
    await other.query('commit');

    expect(await ended(id)).toMatchObject({ state: 'cancelled', generation: 1 });
    expect(harness.errors).toEqual([]);
    expect(await texts(id)).toHaveLength(1);
  });
});
