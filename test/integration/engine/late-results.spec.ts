import { Pool } from 'pg';
import type { CallUsage } from '@engine/calls.js';
import type { WireMove } from '@engine/commit-item.js';
import type { Head } from '@engine/head.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf } from '@test/support/engine.js';
import { claimAs, commitAlone, itemOf, joinAs, releaseAll } from './by-hand.js';

const usage: CallUsage = {
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
const named = { step: 1, name: 'call', attempt: 1 };
const sending = { ...named, to: 'sending', kind: 'test', safety: 'unproven', key: 'key' } as const;
const unknown: WireMove = { ...named, move: ['sending'], to: 'unknown', usage: { ...usage, status: 'unknown', inputTokens: null, outputTokens: null } };
const answer: WireMove = { ...named, move: ['sending'], to: 'succeeded', result: Buffer.from('sealed').toString('base64'), usage };

describe('a result that its sender has no more right to save', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let epoch: string;
  const tenant = newTenant();
  const stored = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const call = async (id: string) => (await rowsOf(superuser, 'select * from execution_call where execution_id = $1', [id]))[0]!;
  const signals = async (id: string) => (await rowsOf(superuser, 'select name from execution_signal where execution_id = $1', [id])).map(({ name }) => name as string);
  const counted = (id: string) =>
    rowsOf(superuser, 'select status, input_tokens, output_tokens, estimated_input_tokens as estimate from usage_entry where execution_id = $1', [id]);
  const confirmed = [{ status: 'confirmed', input_tokens: '3', output_tokens: '5', estimate: '4' }];
  const late = async (id: string, move: WireMove = answer, who = tenant): Promise<string> =>
    ((await worker.query('select late_result($1, $2, $3, $4::jsonb) as outcome', [who.organizationId, who.projectId, id, JSON.stringify(move)])).rows as { outcome: string }[])[0]!
      .outcome;
  const decide = (id: string, decision: string) =>
    superuser.query('select decide_call($1, 1, $2, 1, $3, $4)', [id, 'call', decision, decision === 'result' ? Buffer.from('said') : null]);

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
    epoch = await joinAs(worker, 'by-hand');
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  let workflows = 0;
  /** Work whose owner is sending, and is taken over. */
  async function takenOver(): Promise<Head> {
    const workflow = `late-${(workflows += 1)}`;
    await admit(database, tenant, workflow);
    const [first] = await claimAs(worker, 'by-hand', epoch, workflow);
    expect(await commitAlone(worker, itemOf(first!, { calls: [sending] }))).toBe('applied');
    await releaseAll(worker, 'by-hand', epoch);
    const [next] = await claimAs(worker, 'by-hand', epoch, workflow);
    expect(next).toMatchObject({ id: first!.id, generation: 2 });
    return next!;
  }
  const waits = (head: Head, calls: readonly WireMove[] = [unknown]) => commitAlone(worker, itemOf(head, { to: 'outcome_unknown', do: 'wait', seen: head.signalCount, calls }));
  /** Its new owner has given the call up, and waits for a decision. */
  async function waiting(): Promise<string> {
    const head = await takenOver();
    expect(await waits(head)).toBe('applied');
    return head.id;
  }

  test('before its new owner gave the call up: it is saved, and that owner must read it first', async () => {
    const head = await takenOver();
    expect(await late(head.id)).toBe('stored');
    expect(await call(head.id)).toMatchObject({ state: 'succeeded', late: true, result: Buffer.from('sealed') });
    expect(await stored(head.id)).toMatchObject({ state: 'running', owner: 'by-hand', signal_count: 1, runnable_at: null });
    expect(await waits(head)).toBe('refused');
    expect(await waits({ ...head, signalCount: 1 }, [])).toBe('applied');
    expect(await counted(head.id)).toEqual(confirmed);
  });

  test('after that: it wakes the work, once, and counts its usage, once', async () => {
    const id = await waiting();
    expect(await counted(id)).toMatchObject([{ status: 'unknown', input_tokens: null }]);
    expect((await stored(id)).runnable_at).toBeNull();
    const outcomes = await Promise.all([late(id), late(id), late(id)]);
    expect(outcomes.sort()).toEqual(['already', 'already', 'stored']);
    expect(await signals(id)).toEqual(['call-result']);
    expect(await stored(id)).toMatchObject({ state: 'outcome_unknown', owner: null, signal_count: 1, runnable_at: -Infinity });
    expect(await counted(id)).toEqual(confirmed);
    await decide(id, 'stop');
    expect(await call(id)).toMatchObject({ state: 'succeeded', decided: null });
  });

  test.each(['stop', 'retry', 'result'])('after the decision %s, which stands: it is history', async (decision) => {
    const id = await waiting();
    await decide(id, decision);
    const before = await stored(id);
    const decided = await call(id);
    expect(await late(id)).toBe('history');
    expect(await late(id)).toBe('already');
    expect(await stored(id)).toEqual(before);
    expect(await signals(id)).toEqual(['decision']);
    expect(await call(id)).toEqual({ ...decided, late: true, result: Buffer.from(decision === 'result' ? 'said' : 'sealed') });
    expect(await counted(id)).toEqual(confirmed);
  });

  test('after the end: it is history, and makes nothing ready', async () => {
    const head = await takenOver();
    const given = { ...unknown, to: 'abandoned' };
    expect(await commitAlone(worker, itemOf(head, { to: 'cancelled', do: 'end', seen: 0, calls: [given] }))).toBe('applied');
    const before = await stored(head.id);
    expect(await late(head.id)).toBe('history');
    expect(await stored(head.id)).toEqual(before);
    expect(await signals(head.id)).toEqual([]);
    expect(await call(head.id)).toMatchObject({ state: 'abandoned', late: true });
    expect(await counted(head.id)).toEqual(confirmed);
  });

  test('that no byte was sent: the call is free to be sent', async () => {
    const id = await waiting();
    expect(await late(id, { ...named, move: ['sending'], to: 'abandoned', unsent: true })).toBe('stored');
    expect(await call(id)).toMatchObject({ state: 'abandoned', late: false });
    expect(await late(id, { ...named, move: ['sending'], to: 'abandoned', unsent: true })).toBe('already');
    expect(await stored(id)).toMatchObject({ signal_count: 1, runnable_at: -Infinity });
  });

  test('that its own commit has saved after all: nothing changes', async () => {
    const head = await takenOver();
    expect(await commitAlone(worker, itemOf(head, { calls: [answer] }))).toBe('applied');
    const before = [await stored(head.id), await call(head.id)];
    expect(await late(head.id)).toBe('already');
    expect([await stored(head.id), await call(head.id)]).toEqual(before);
    expect(await counted(head.id)).toEqual(confirmed);
  });

  test('races the decision: one of the two counts, and both never', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await waiting();
      const [outcome] = await Promise.all([late(id), decide(id, 'stop')]);
      expect(await call(id)).toMatchObject(outcome === 'stored' ? { state: 'succeeded', decided: null } : { state: 'unknown', decided: 'stop' });
      expect(await signals(id)).toEqual([outcome === 'stored' ? 'call-result' : 'decision']);
    }
  });

  test('of another tenant, of deleted work, of a call that is none: nothing', async () => {
    const id = await waiting();
    expect(await late(id, answer, newTenant())).toBe('gone');
    expect(await late(id, { ...answer, attempt: 2 })).toBe('gone');
    await superuser.query('delete from execution where id = $1', [id]);
    expect(await late(id)).toBe('gone');
  });
});
