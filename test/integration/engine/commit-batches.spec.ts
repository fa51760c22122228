import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { CommitItem, WireCall } from '@engine/commit-item.js';
import { Committer } from '@engine/committer.js';
import type { Head } from '@engine/head.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, signal, type Tenant } from '@test/support/engine.js';
import { claimAs, commitAlone, commitBatch, itemOf, joinAs, releaseAll } from './by-hand.js';
import { createProbeFeature, newProbe } from './probe-feature.js';

const usage = { provider: 'p', model: 'm', source: 's', status: 'confirmed', inputTokens: 3, outputTokens: 2, cachedInputTokens: null, cacheWriteTokens: 1, reasoningTokens: null, estimatedInputTokens: 4 } as const; // prettier-ignore
const call = { step: 1, name: 'call', attempt: 1 };
const opened: WireCall = { ...call, to: 'sending', kind: 'k', safety: 'repeatable', key: 'key', input: 'AAAA' };
const moved = (move: string, to: string, more: object = {}): WireCall => ({ ...call, move: [move], to, ...more });
const text = (b: string) => ({ t: 'Text', step: 1, attempt: 1, b });

/** What an owner may hand in, commit by commit, and what must come of it. */
const stories: Readonly<Record<string, readonly (readonly [outcome: string, change: (head: Head) => Partial<CommitItem>])[]>> = {
  'a cursor': [['applied', () => ({ cursor: { at: 1 } })], ['applied', () => ({})], ['applied', () => ({ cursor: { at: 3 } })]], // prettier-ignore
  events: [
    ['applied', () => ({ events: [text('AAAA'), text('BBBB'), { t: 'State', state: 'running' }] })],
    ['applied', () => ({ events: [text('CCCC')] })],
  ],
  'a call': [
    ['applied', () => ({ calls: [opened], events: [text('AAAA')] })],
    ['applied', () => ({ calls: [moved('sending', 'succeeded', { result: 'BBBB', usage }), { ...opened, attempt: 2 }] })],
    ['applied', () => ({ calls: [{ ...moved('sending', 'failed', { category: 'c', error: '00000000-0000-4000-8000-000000000000', usage }), attempt: 2 }] })],
  ],
  'a call that is not as it was': [['applied', () => ({ calls: [opened] })], ['refused', () => ({ calls: [moved('intent', 'sending')], events: [text('AAAA')], cursor: { lost: true } })]], // prettier-ignore
  "a feature's rows": [1, 2].map((number) => ['applied', (head: Head) => ({ feature: 'probe', aggregate: head.subjectId ?? '', rows: { number } })] as const),
  'a wait that consumes a signal': [['applied', () => ({ to: 'waiting', do: 'wait', until: '2100-01-01T00:00:00.000Z', seen: 1, consume: [{ name: 'go', number: 1 }] })]],
  'a wait that an unread signal contradicts': [['refused', () => ({ to: 'waiting', do: 'wait', until: null, seen: 0 })], ['refused', () => ({ to: 'waiting', do: 'wait', until: null, seen: 2 })]], // prettier-ignore
  'a handover': [
    ['applied', () => ({ do: 'yield' })],
    ['refused', () => ({})],
  ],
  'an end with a failure': [
    ['applied', () => ({ to: 'failed', do: 'end', category: 'c', error: '00000000-0000-4000-8000-000000000001', events: [{ t: 'State', state: 'failed' }] })],
  ],
  'the same bytes twice': [
    ['applied', () => ({ events: [text('AAAA')] })],
    ['already', () => ({ n: 1, events: [text('AAAA')] })],
  ],
  'a foreign claim': [['refused', () => ({ claim: uuidv7(), events: [text('AAAA')] })]],
  'no such work': [['gone', () => ({ id: uuidv7() })]],
};

const tables = ['execution', 'execution_event', 'execution_call', 'execution_signal', 'usage_entry', 'probe', 'probe_row'];

describe('commits in one call', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let epoch: string;

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
    await createProbeFeature(superuser);
    epoch = await joinAs(worker, 'batch');
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  /** One owned execution of each story, in tenants by turns. */
  async function heads(workflow: string, tenants: readonly Tenant[]): Promise<Head[]> {
    const ids: string[] = [];
    for (const [index] of Object.keys(stories).entries()) {
      const tenant = tenants[index % tenants.length] as Tenant;
      const id = await admit(database, tenant, workflow, {}, { subjectId: await newProbe(superuser, tenant) });
      await signal(database, tenant, id, 'go');
      ids.push(id);
    }
    const claimed = new Map((await claimAs(worker, 'batch', epoch, workflow)).map((head) => [head.id, head]));
    return ids.map((id) => claimed.get(id) as Head);
  }

  /** Tells all stories at once, step by step, and answers what is stored then: without ids and times, which alone may differ. */
  async function tell(workflow: string, tenants: readonly Tenant[], send: (items: readonly CommitItem[]) => Promise<(string | undefined)[]>) {
    const told = await heads(workflow, tenants);
    for (let step = 0; step < 3; step += 1) {
      const items: CommitItem[] = [];
      const expected: string[] = [];
      for (const [index, story] of Object.values(stories).entries()) {
        const [outcome, change] = story[step] ?? [];
        const head = told[index] as Head;
        if (!outcome || !change) continue;
        items.push(itemOf(head, { seen: head.signalCount, ...change(head) }));
        expected.push(outcome);
      }
      expect(await send(items)).toEqual(expected);
      for (const [index, story] of Object.values(stories).entries()) if (story[step]?.[0] === 'applied') (told[index] as Head).commitNumber += 1;
    }
    const order = new Map(told.map((head, index) => [head.id, index]));
    const subjects = new Map(told.map((head, index) => [head.subjectId, index]));
    const organizations = tenants.map(({ organizationId }) => organizationId);
    const stored: Record<string, unknown[]> = {};
    for (const table of tables) {
      const rows = await rowsOf(superuser, `select * from ${table} where organization_id = any ($1)`, [organizations]);
      stored[table] = rows.map((row) => plain(row, order, subjects, organizations)).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    }
    return stored;
  }

  function plain(row: Record<string, unknown>, order: ReadonlyMap<string, number>, subjects: ReadonlyMap<string | null, number>, organizations: readonly string[]) {
    const kept = Object.entries(row).map(([column, value]) => {
      if (column.endsWith('_at') && column !== 'runnable_at') return [column, value === null ? null : 'a time'];
      if (column === 'ran_ms') return [column, 'a time'];
      if (['claim_id', 'last_claim_id', 'project_id', 'workflow', 'ran_from'].includes(column)) return [column, value === null ? null : 'set'];
      if (column === 'organization_id') return [column, organizations.indexOf(value as string)];
      return [column, order.get(value as string) ?? subjects.get(value as string) ?? value];
    });
    return Object.fromEntries(kept) as object;
  }

  test.each([1, 3])('store what they store one by one, all refused and repeated ones among them: %i tenants', async (count) => {
    const make = () => Array.from({ length: count }, () => newTenant());
    const alone = await tell(`alone-${count}`, make(), async (items) => {
      const outcomes = [];
      for (const item of items) outcomes.push(await commitAlone(worker, item));
      return outcomes;
    });
    const together = await tell(`together-${count}`, make(), async (items) => {
      const answers = await commitBatch(worker, items);
      return items.map(({ id }) => answers.get(id)?.outcome);
    });
    expect(together).toEqual(alone);
    expect(alone['usage_entry']).toHaveLength(2);
    expect(alone['probe_row']).toHaveLength(2);
    expect(alone['execution_call']).toHaveLength(3);
  });

  test('what another holds is busy, and keeps nothing else from going in', async () => {
    const tenant = newTenant();
    const told = await heads('busy', [tenant]);
    const holder = await superuser.connect();
    await holder.query('begin');
    await holder.query('select 1 from execution where id = $1 for no key update', [told[0]?.id]);
    await holder.query('select 1 from probe where id = $1 for no key update', [told[1]?.subjectId]);
    const items = told.map((head, index) => itemOf(head, index < 3 ? { feature: 'probe', aggregate: head.subjectId ?? '', rows: { number: 1 } } : {}));
    const answers = await commitBatch(worker, items, true);
    await holder.query('rollback');
    holder.release();
    expect(items.map(({ id }) => answers.get(id)?.outcome)).toEqual(['busy', 'busy', ...items.slice(2).map(() => 'applied')]);
  });

  test('two owners of one execution that are heard in the same moment: each gets its own answer', async () => {
    const tenant = newTenant();
    await admit(database, tenant, 'twice');
    const [before] = await claimAs(worker, 'batch', epoch, 'twice');
    await releaseAll(worker, 'batch', epoch);
    const [now] = await claimAs(worker, 'batch', epoch, 'twice');
    const committer = new Committer(worker);
    for (const [outcomes, items] of [
      [
        ['refused', 'applied'],
        [before!, now!],
      ],
      [
        ['applied', 'refused'],
        [{ ...now!, commitNumber: 1 }, before!],
      ],
    ] as const) {
      const lost = { calls: [moved('sending', 'succeeded')] };
      const settled = await Promise.all(items.map((head) => committer.submit(itemOf(head, head.generation === 1 ? lost : {}))));
      expect(settled.map(({ outcome }) => outcome)).toEqual(outcomes);
    }
  });
});
