import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { exitCodeOf, type Finding, type Report } from '@platform/doctor/finding.js';
import { printReport } from '@platform/doctor/print-report.js';
import { runDoctor } from '@platform/doctor/run-doctor.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, startEngine } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { BusyHandler, BusySaga } from './busy-work.js';
import { liveNode } from './live-node.js';

const leaseMs = 600;
const tenant = newTenant();
let database: TestDatabase;
let superuser: Pool;

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
});
const alive: Awaited<ReturnType<typeof liveNode>>[] = [];
afterEach(async () => {
  for (const node of alive.splice(0)) await node.kill();
  await superuser.query('truncate execution, execution_event, execution_call, execution_signal, node, product_event_inbox, audit_inbox, permit, resource_lease');
});
afterAll(async () => {
  await superuser.end();
  await database.close();
});

const look = (patienceMs = leaseMs): Promise<Report> => runDoctor({ url: database.workerUrl, leaseMs: patienceMs });
const faults = ({ findings }: Report): Finding[] => findings.filter(({ verdict }) => verdict !== 'well' && verdict !== 'unasked');
const set = (id: string, what: string) => superuser.query(`update execution set ${what} where id = $1`, [id]);
const owned = (owner: string, epoch: number) => `owner = '${owner}', epoch = ${epoch}, claim_id = gen_random_uuid(), generation = 1, state = 'running', runnable_at = null`;

/** Plants one fault and answers the id that must be named, or the name of what is. */
const planted: readonly [check: string, fault: string, plant: () => Promise<string>][] = [
  [
    'running-without-live-owner',
    'its owner is no node',
    async () => {
      const id = await admit(database, tenant, 'ghostly');
      await set(id, owned('ghost', 1));
      return id;
    },
  ],
  [
    'running-without-live-owner',
    'its owner came back under another epoch',
    async () => {
      const id = await admit(database, tenant, 'ghostly');
      await superuser.query(`insert into node (name, epoch) values ('again', 2)`);
      await set(id, owned('again', 1));
      return id;
    },
  ],
  [
    'running-without-live-owner',
    'its owner does not beat',
    async () => {
      const id = await admit(database, tenant, 'ghostly');
      await superuser.query(`insert into node (name, epoch, beat) values ('frozen', 1, 41)`);
      await set(id, owned('frozen', 1));
      return id;
    },
  ],
  ['waiting-without-waker', 'it was never made ready', () => admit(database, tenant, 'forgotten', {}, { ready: false })],
  [
    'waiting-without-waker',
    'its calls are settled, and it was told by no signal',
    async () => {
      const id = await admit(database, tenant, 'forgotten');
      await set(id, `state = 'outcome_unknown', runnable_at = null`);
      await plantCall(id, `'unknown', 'stop'`);
      return id;
    },
  ],
  [
    'waiting-without-waker',
    'the turn that it waits for does not advance',
    async () => {
      const id = await admit(database, tenant, 'turn', { turnId: uuidv7() }, { ready: false, subjectId: uuidv7() });
      return id;
    },
  ],
  [
    'sequence-gaps',
    'an event is missing',
    async () => {
      const id = await finishedWork();
      await superuser.query('delete from execution_event where execution_id = $1 and sequence = 2', [id]);
      return id;
    },
  ],
  [
    'sequence-gaps',
    'the last event is missing',
    async () => {
      const id = await finishedWork();
      await superuser.query('delete from execution_event e using execution x where x.id = $1 and e.execution_id = x.id and e.sequence = x.sequence', [id]);
      return id;
    },
  ],
  [
    'oldest-ready',
    'nobody claims it',
    async () => {
      const id = await admit(database, tenant, 'unclaimed');
      await set(id, `created_at = clock_timestamp() - interval '5 minutes'`);
      await superuser.query(`update execution_event set created_at = clock_timestamp() - interval '3 minutes' where execution_id = $1`, [id]);
      return id;
    },
  ],
  [
    'oldest-ready',
    'its instant passed long ago',
    async () => {
      const id = await admit(database, tenant, 'unclaimed');
      await set(id, `state = 'waiting', runnable_at = clock_timestamp() - interval '2 hours'`);
      return id;
    },
  ],
  [
    'unknown-calls',
    'a person must decide',
    async () => {
      const id = await admit(database, tenant, 'undecided');
      await set(id, `state = 'outcome_unknown', runnable_at = null`);
      await plantCall(id, `'unknown', null`);
      return id;
    },
  ],
  [
    'events-without-position',
    'nobody numbers them',
    async () => {
      await superuser.query(
        `insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, created_at)
         values ($1, $2, $2, 'execution.started', $2, 1, clock_timestamp() - interval '5 minutes')`,
        [tenant.organizationId, tenant.projectId],
      );
      return '';
    },
  ],
  [
    'audit-entries-without-place',
    'nobody links them',
    async () => {
      await superuser.query(`insert into organization (id, name) values ($1, 'Example') on conflict do nothing`, [tenant.organizationId]);
      await superuser.query(
        `insert into audit_inbox (organization_id, id, at, action, outcome, actor_kind) values ($1, gen_random_uuid(), clock_timestamp() - interval '5 minutes', 'bot.created', 'done', 'operator')`,
        [tenant.organizationId],
      );
      return '';
    },
  ],
  [
    'children-miscounted',
    'it counts a child that is not there',
    async () => {
      const id = await admit(database, tenant, 'childless');
      await set(id, 'open_children = 1');
      return id;
    },
  ],
  [
    'children-miscounted',
    'it does not count one that is',
    async () => {
      const [parent, child] = [await admit(database, tenant, 'parental'), await admit(database, tenant, 'childlike')];
      await set(child, `parent_id = '${parent}', attached = true`);
      return parent;
    },
  ],
  ['permits-without-call', 'its call has a result', async () => plantPermit(await withCall('succeeded'), null)],
  ['permits-without-call', 'its call was given up and may run for ever', async () => plantPermit(await withCall('abandoned'), null)],
  ['permits-without-call', 'there is no such call', async () => plantPermit(await admit(database, tenant, 'limited'), null)],
  ['permits-without-call', 'its time was over long ago', async () => plantPermit(await withCall('abandoned'), '5 minutes')],
  ['unsettled-leases', 'nobody knows whether its thing is closed', () => plantLease('unknown', 'ghost')],
  ['unsettled-leases', 'its thing could not be closed', () => plantLease('close_failed', 'holder')],
  ['leases-without-live-owner', 'the process that opened it is gone', () => plantLease('open', 'ghost')],
  ['leases-without-live-owner', 'its node lives again in another process', () => plantLease('closing', 'holder', 'gen_random_uuid()')],
  [
    'unknown-workflows',
    'no worker knows it in its version',
    async () => {
      alive.push(await liveNode(database, 'holder', ['older:1', 'newer:2']));
      await admit(database, tenant, 'newer');
      return 'newer:1';
    },
  ],
  [
    'dead-tuples',
    'autovacuum does not keep up',
    async () => {
      await superuser.query('alter table execution_signal set (autovacuum_enabled = off)');
      const id = uuidv7();
      await superuser.query(
        `insert into execution_signal (execution_id, name, number, organization_id, project_id) select $1, 'planted', n, $2, $3 from generate_series(1, 60000) n`,
        [id, tenant.organizationId, tenant.projectId],
      );
      await superuser.query('delete from execution_signal where execution_id = $1', [id]);
      await eventually(
        () => rowsOf<{ dead: number }>(superuser, `select n_dead_tup::int as dead from pg_stat_user_tables where relname = 'execution_signal'`),
        ([row]) => (row?.dead ?? 0) >= 60_000,
      );
      return 'execution_signal';
    },
  ],
];

/** Of a node that lives or is gone; `process`: of another life of it. */
async function plantLease(state: string, owner: string, process = `(select process from node where name = 'holder')`): Promise<string> {
  alive.push(await liveNode(database, 'holder'));
  const { rows } = await superuser.query<{ id: string }>(
    `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, process, generation, state)
     values ($1, $2, $3, 'thing', 'door', $1, $4, 1, ${process}, 1, $5) returning id`,
    [uuidv7(), tenant.organizationId, tenant.projectId, owner, state],
  );
  return toPublicId('lease', rows[0]!.id);
}

const plantCall = (id: string, stateAndDecision: string) =>
  superuser.query(
    `insert into execution_call (execution_id, step, name, attempt, organization_id, project_id, generation, kind, safety, provider_key, state, decided)
     values ($1, 1, 'tool:0', 1, $2, $3, 1, 'tool', 'unproven', 'key', ${stateAndDecision})`,
    [id, tenant.organizationId, tenant.projectId],
  );

async function withCall(state: string): Promise<string> {
  const id = await admit(database, tenant, 'limited');
  await plantCall(id, `'${state}', null`);
  return id;
}

async function plantPermit(id: string, over: string | null): Promise<string> {
  await superuser.query(
    `insert into permit (execution_id, step, name, attempt, organization_id, generation, limit_name, number, state, woken, timeout_ms, expires_at)
     values ($1, 1, 'tool:0', 1, $2, 1, 'shared', 1, 'held', true, 1000, clock_timestamp() - $3::interval)`,
    [id, tenant.organizationId, over],
  );
  return id;
}

async function finishedWork(): Promise<string> {
  const harness = await startEngine(database, [BusySaga, BusyHandler]);
  try {
    const id = await admit(database, tenant, 'busy', { steps: 3, done: 0, rests: false });
    await eventually(
      () => rowsOf(superuser, 'select 1 from execution where id = $1 and ended_at is not null', [id]),
      (found) => found.length === 1,
    );
    return id;
  } finally {
    await harness.stop();
  }
}

test('nothing is found in a healthy database whose nodes are busy', async () => {
  const nodes = await Promise.all(
    ['one', 'two'].map((node) => startEngine(database, [BusySaga, BusyHandler], { node, leaseMs, slots: 30, connection: { connectionString: database.workerUrl } })),
  );
  try {
    for (let looks = 0; looks < 3; looks += 1) {
      await Promise.all(Array.from({ length: 12 }, (_, index) => admit(database, tenant, 'busy', { steps: 15, done: 0, rests: index % 2 === 0 })));
      // Nodes that beat are seen at once; on a machine that does much else a beat may take longer than their short lease.
      const report = await look(10_000);
      expect(faults(report)).toEqual([]);
      expect(exitCodeOf(report)).toBe(0);
    }
    await eventually(
      () => rowsOf(superuser, 'select 1 from execution where ended_at is null'),
      (open) => open.length === 0,
      60_000,
    );
    expect(faults(await look(10_000))).toEqual([]);
    expect(await rowsOf(superuser, `select state, count(*)::int as count from execution group by 1`)).toEqual([{ state: 'completed', count: 36 }]);
  } finally {
    for (const node of nodes) await node.stop();
  }
}, 90_000);

test('work that its workflow says will be woken from outside is no fault, and only that', async () => {
  const [waits, forgotten] = [await admit(database, tenant, 'knocked', {}, { ready: false }), await admit(database, tenant, 'knocked', { deaf: true }, { ready: false })];
  await superuser.query(`create function feature_waker_knocked(p_ids uuid[]) returns uuid[] language sql stable security definer set search_path = pg_catalog, public as $$
    select array(select x.id from execution x where x.id = any (p_ids) and not x.cursor ? 'deaf') $$`);
  await superuser.query('alter function feature_waker_knocked(uuid[]) owner to openbot_engine');
  expect(faults(await look())).toMatchObject([{ name: 'waiting-without-waker', count: 1, examples: [toPublicId('execution', forgotten)] }]);
  await set(forgotten, `runnable_at = 'infinity'`);
  expect(faults(await look())).toEqual([]);
  expect(waits).not.toBe(forgotten);
});

test('work that waits for a child that is not there is named for both: its number, and that nobody wakes it', async () => {
  const id = await admit(database, tenant, 'childless', {}, { ready: false });
  await set(id, 'open_children = 1');
  const examples = [toPublicId('execution', id)];
  expect(faults(await look())).toMatchObject([
    { name: 'waiting-without-waker', count: 1, examples },
    { name: 'children-miscounted', count: 1, examples },
  ]);
});

test('a place in a limit that is used, queued for, freed or about to expire is no fault', async () => {
  await plantPermit(await withCall('sending'), null);
  await plantPermit(await withCall('intent'), null);
  await superuser.query(`update permit set state = 'waiting' where execution_id in (select c.execution_id from execution_call c where c.state = 'intent')`);
  const freed = await plantPermit(await withCall('succeeded'), null);
  await superuser.query(`update permit set state = 'freed' where execution_id = $1`, [freed]);
  await plantPermit(await withCall('abandoned'), '-5 minutes');
  expect(faults(await look())).toEqual([]);
});

test('a thing that a living process holds is no fault, and neither is work that waits where no worker lives', async () => {
  await admit(database, tenant, 'unclaimed');
  expect(faults(await look())).toEqual([]);
  await superuser.query('truncate execution');
  for (const state of ['open', 'closing']) {
    await plantLease(state, 'holder');
    expect(faults(await look())).toEqual([]);
    await superuser.query('truncate resource_lease');
    await alive.pop()?.kill();
  }
});

test('a look that ends at its limit has seen what is unsettled, however much is held beside it', async () => {
  for (let index = 0; index < 3; index += 1)
    await superuser.query(
      `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, generation, state)
       values ($1, $2, $3, 'thing', 'door ' || $4, $1, 'ghost', 1, 1, 'open')`,
      [uuidv7(), tenant.organizationId, tenant.projectId, index],
    );
  const lease = await plantLease('unknown', 'ghost');
  const { rows } = await superuser.query('select found, examples, more from doctor_leases(2)');
  expect(rows).toEqual([{ found: '1', examples: [fromPublicId('lease', lease)], more: false }]);
  await superuser.query('truncate resource_lease');
  await alive.pop()?.kill();
});

test('a question without an answer is told apart from a finding, and from a database that is not there', async () => {
  await superuser.query('alter function doctor_unknown(int) rename to doctor_hidden');
  const report = await look();
  await superuser.query('alter function doctor_hidden(int) rename to doctor_unknown');
  expect(faults(report)).toMatchObject([{ name: 'unknown-calls', verdict: 'unseen', detail: 'no answer: 42883' }]);
  expect(exitCodeOf(report)).toBe(2);
  await expect(runDoctor({ url: database.workerUrl.replace(/\/[^/]*$/, '/absent'), leaseMs })).rejects.toThrow();
});

test('an operator asks as the worker: the API may not ask, and the engine may read no content', async () => {
  await expect(database.api.query('select * from doctor_parked(1)')).rejects.toMatchObject({ code: '42501' });
  for (const column of ['execution_event.body', 'execution_call.input', 'execution_call.result', 'execution_signal.body']) {
    const [table, name] = column.split('.');
    expect(await rowsOf(superuser, `select has_column_privilege('openbot_engine', $1, $2, 'select') as may`, [table, name])).toEqual([{ may: false }]);
  }
});

// Last: what a table's figures say of one test is still there in the next.
test.each(planted)('%s is found: %s', async (check, _, plant) => {
  const name = await plant();
  const report = await look();
  expect(faults(report)).toMatchObject([{ name: check, verdict: 'act', count: 1 }]);
  expect(faults(report)[0]?.examples).toEqual(name === '' ? [] : [name.includes('-') ? toPublicId('execution', name) : name]);
  expect(exitCodeOf(report)).toBe(1);
  expect(printReport(report)).toContain(faults(report)[0]!.advice);
});
