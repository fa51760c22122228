import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { admitExecution } from '@engine/admit.js';
import type { WireChild } from '@engine/commit-item.js';
import { requestCancel, sendSignal } from '@engine/executions.js';
import type { Head } from '@engine/head.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, type Tenant } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { claimAs, commitAlone, commitBatch, itemOf, joinAs } from './by-hand.js';

describe('the fences of a family', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let worker: Pool;
  let tenant: Tenant;
  let parent: Head;
  const stored = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0];
  const child = (change: Partial<WireChild> = {}): WireChild => ({
    id: uuidv7(),
    attached: true,
    workflow: 'fenced child',
    version: 1,
    cursor: {},
    subject: null,
    identity: null,
    ready: true,
    ...change,
  });
  const claim = async (workflow: string): Promise<Head> => (await claimAs(worker, 'by-hand', await joinAs(worker, 'by-hand'), workflow, 1))[0]!;
  const after = (head: Head, commitNumber = head.commitNumber + 1): Head => ({ ...head, commitNumber });

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    worker = poolOf(database.worker);
  });
  beforeEach(async () => {
    tenant = newTenant();
    await superuser.query(`update execution set runnable_at = null where owner is null`);
    await admit(database, tenant, 'fenced', {}, { memberId: uuidv7() });
    parent = await claim('fenced');
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('a commit that admits the same children again counts them once', async () => {
    const [one, two] = [child(), child({ attached: false })];
    expect(await commitAlone(worker, itemOf(parent, { children: [one, two] }))).toBe('applied');
    expect(await commitAlone(worker, itemOf(after(parent), { children: [one, two, child()] }))).toBe('applied');
    expect(await stored(parent.id)).toMatchObject({ open_children: 2 });
    expect(await rowsOf(superuser, 'select id from execution where parent_id = $1', [parent.id])).toHaveLength(3);
    expect(await rowsOf(superuser, 'select type, state, sequence from execution_event where execution_id = $1', [one.id])).toEqual([
      { type: 'State', state: 'queued', sequence: 1 },
    ]);
  });

  test('the same bytes once more admit nothing', async () => {
    const item = itemOf(parent, { children: [child()] });
    expect(await commitAlone(worker, item)).toBe('applied');
    expect(await commitAlone(worker, item)).toBe('already');
    expect(await stored(parent.id)).toMatchObject({ open_children: 1 });
  });

  test('an id that is another execution’s refuses the commit that gives it to a child', async () => {
    const foreign = await admit(database, tenant, 'foreign');
    await expect(commitAlone(worker, itemOf(parent, { children: [child({ id: foreign })] }))).rejects.toMatchObject({ code: '23505' });
    expect(await stored(parent.id)).toMatchObject({ open_children: 0, commit_number: 0 });
    expect(await stored(foreign)).toMatchObject({ parent_id: null });
  });

  test('a batch admits the children of each of its heads, and of no refused one', async () => {
    await admit(database, tenant, 'fenced');
    await admit(database, newTenant(), 'fenced');
    const others = await claimAs(worker, 'by-hand', parent.epoch, 'fenced');
    const heads = [parent, ...others];
    const items = heads.map((head, index) => itemOf(index === 1 ? { ...head, commitNumber: 7 } : head, { children: [child(), child()] }));
    const outcomes = await commitBatch(worker, items);
    expect(heads.map(({ id }) => outcomes.get(id)?.outcome)).toEqual(['applied', 'refused', 'applied']);
    expect(await Promise.all(heads.map(async ({ id }) => (await stored(id))?.['open_children'] as number))).toEqual([2, 0, 2]);
    for (const [index, { id, context }] of heads.entries())
      expect(await rowsOf(superuser, 'select distinct organization_id from execution where parent_id = $1', [id])).toEqual(
        index === 1 ? [] : [{ organization_id: context.organizationId }],
      );
  });

  test('work with open children does not end, by the fence and by the table', async () => {
    await commitAlone(worker, itemOf(parent, { children: [child()] }));
    expect(await commitAlone(worker, itemOf(after(parent), { to: 'completed', do: 'end' }))).toBe('refused');
    await expect(
      superuser.query(`update execution set state = 'completed', ended_at = now(), owner = null, epoch = null, claim_id = null where id = $1`, [parent.id]),
    ).rejects.toMatchObject({ constraint: 'execution_family_adds_up' });
  });

  test('the end that waits for children keeps its first reason, and takes no more of them', async () => {
    await commitAlone(worker, itemOf(parent, { children: [child()] }));
    const first = uuidv7();
    const waits = { to: 'waiting', do: 'wait', until: null } as const;
    expect(await commitAlone(worker, itemOf(after(parent), { ...waits, ending: 'failed', category: 'internal', error: first }))).toBe('applied');
    const admission = transact(database.api, tenant, async (tx) => {
      const work = { context: tenant, workflow: 'fenced child', version: 1, cursor: {}, subjectId: null, identityId: null, memberId: null, ready: true };
      return ok(await admitExecution(tx, { ...work, parent: { id: parent.id, attached: true } }));
    });
    await expect(admission).rejects.toThrow('the parent takes no more children');
    await transact(database.api, tenant, async (tx) => ok(await sendSignal(tx, parent.id, { name: 'ping' })));
    const again = await claim('fenced');
    expect(again).toMatchObject({ id: parent.id, state: 'running', openChildren: 1, ending: 'failed', failure: { category: 'internal', errorId: first } });
    expect(await commitAlone(worker, itemOf(again, waits))).toBe('applied');
    expect(await stored(parent.id)).toMatchObject({ ending: 'failed', failure_category: 'internal', error_id: first });
  });

  test('a child ends only together with its parent’s count and signal', async () => {
    const one = child();
    await commitAlone(worker, itemOf(parent, { children: [one] }));
    const mine = await claim('fenced child');
    expect(mine).toMatchObject({ id: one.id, parent: { id: parent.id, attached: true } });
    const over = { to: 'completed', do: 'end' } as const;
    expect(await commitAlone(worker, itemOf(mine, over))).toBe('refused');
    expect(await commitAlone(worker, itemOf(mine, { ...over, parent: uuidv7() }))).toBe('refused');
    const end = itemOf(mine, { ...over, parent: parent.id, notice: Buffer.from('sealed').toString('base64') });
    expect(await commitAlone(worker, end)).toBe('applied');
    expect(await commitAlone(worker, end)).toBe('already');
    expect(await stored(parent.id)).toMatchObject({ open_children: 0, signal_count: 1 });
    expect(await rowsOf(superuser, 'select name, number, body from execution_signal where execution_id = $1', [parent.id])).toEqual([
      { name: 'child-ended', number: 1, body: Buffer.from('sealed') },
    ]);
  });

  test('a wait that has not read the child’s end is refused; one that came before it is woken', async () => {
    const [one, two] = [child(), child()];
    await commitAlone(worker, itemOf(parent, { children: [one, two] }));
    const endOne = async (): Promise<void> => {
      const mine = await claim('fenced child');
      expect(await commitAlone(worker, itemOf(mine, { to: 'completed', do: 'end', parent: parent.id }))).toBe('applied');
    };
    await endOne();
    const release = { to: 'waiting', do: 'wait', until: null, cancel: 0 } as const;
    expect(await commitAlone(worker, itemOf(after(parent), { ...release, seen: 0 }))).toBe('refused');
    expect(await commitAlone(worker, itemOf(after(parent), { ...release, seen: 1 }))).toBe('applied');
    expect((await stored(parent.id))?.['runnable_at']).toBeNull();
    await endOne();
    expect((await stored(parent.id))?.['runnable_at']).not.toBeNull();
  });

  test('a cancel that meets an admission on its way reaches the new child', async () => {
    const one = uuidv7();
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    let admitted: () => void = () => undefined;
    const isAdmitted = new Promise<void>((resolve) => (admitted = resolve));
    const admission = transact(database.worker, tenant, async (tx) => {
      await tx.query('select 1 from execution where id = $1 for no key update', [parent.id]);
      const work = { id: one, context: tenant, workflow: 'fenced child', version: 1, cursor: {}, subjectId: null, identityId: null, memberId: null, ready: true };
      await admitExecution(tx, { ...work, parent: { id: parent.id, attached: true } });
      admitted();
      await held;
      return ok(undefined);
    });
    await isAdmitted;
    const cancelled = transact(database.api, tenant, async (tx) => ok(await requestCancel(tx, parent.id)));
    // It has read no child, and waits for the parent's head.
    await eventually(
      () => rowsOf(superuser, `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
      (rows) => rows.length > 0,
    );
    letGo();
    await admission;
    expect(await cancelled).toMatchObject({ ok: true, value: { touched: expect.arrayContaining([parent.id, one]), number: 1 } });
    expect(await stored(one)).toMatchObject({ state: 'cancelling', cancel_number: 1, signal_count: 1 });
    expect(await commitAlone(worker, itemOf(parent, { children: [child()] }))).toBe('refused');
    expect(await rowsOf(superuser, 'select 1 from execution where parent_id = $1', [parent.id])).toHaveLength(1);
  });

  describe('tenants', () => {
    test('a commit’s children are of its head’s tenant and member, whatever they say themselves', async () => {
      const stranger = newTenant();
      const one = { ...child(), organization: stranger.organizationId, project: stranger.projectId, member: uuidv7(), parent: uuidv7() };
      expect(await commitAlone(worker, itemOf(parent, { children: [one] }))).toBe('applied');
      const { member_id } = (await stored(parent.id))!;
      expect(await stored(one.id)).toMatchObject({ organization_id: tenant.organizationId, project_id: tenant.projectId, member_id, parent_id: parent.id });
    });

    test.each(['admitExecution', 'an insert'])('no child of another tenant’s work by %s', async (how) => {
      for (const stranger of [newTenant(), { organizationId: tenant.organizationId, projectId: uuidv7() }])
        for (const login of [database.api, database.worker]) {
          const id = uuidv7();
          const work = { id, context: stranger, workflow: 'fenced child', version: 1, cursor: {}, subjectId: null, identityId: null, memberId: null, ready: true };
          const admission = transact(login, stranger, async (tx) => {
            if (how === 'admitExecution') await admitExecution(tx, { ...work, parent: { id: parent.id, attached: true } });
            else
              await tx.query(
                `insert into execution (id, organization_id, project_id, workflow, workflow_version, parent_id, attached) values ($1, $2, $3, 'fenced child', 1, $4, true)`,
                [id, stranger.organizationId, stranger.projectId, parent.id],
              );
            return ok(undefined);
          });
          await expect(admission).rejects.toMatchObject({ code: how === 'admitExecution' ? '23503' : '42501' });
          expect(await stored(id)).toBeUndefined();
        }
      expect(await stored(parent.id)).toMatchObject({ open_children: 0, signal_count: 0 });
    });
  });
});
