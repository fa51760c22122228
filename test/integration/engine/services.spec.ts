import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { getDataSourceToken } from '@nestjs/typeorm';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, ServiceWorkflow, Workflow, type Next, type Saga, type ServiceSaga, type Stored } from '@engine/saga.js';
import { platformContext, serviceScope, type ServiceIdentity } from '@engine/service-identity.js';
import { admitServiceExecution } from '@engine/services.js';
import { Workflows } from '@engine/workflows.js';
import { StartMaintenanceCommand, StartMaintenanceHandler } from '@contexts/maintenance/commands/start-maintenance.command.js';
import { NodeSweepSaga } from '@contexts/maintenance/sagas/node-sweep.saga.js';
import { SweepNodesHandler } from '@contexts/maintenance/sagas/phases/sweep-nodes.js';
import { read, transact } from '@platform/database/transact.js';
import { keyed, keyedByService } from '@platform/identity/command-key.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, poolOf, rowsOf, sealingOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

type Cursor = { readonly done: number };
const rights = { mayAct: true, asked: 0, sent: [] as number[] };

class CallOut {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(CallOut)
class CallOutHandler implements ICommandHandler<CallOut> {
  async execute({ run }: CallOut) {
    const step = run.execution.cursor.done + 1;
    await run.call({ step, name: 'call', kind: 'test', safety: 'repeatable' }, async () => {
      rights.sent.push(step);
      return null;
    });
    run.finish({ done: step });
  }
}

@Injectable()
@ServiceWorkflow('keeper', 'rounds', { version: 1 })
class RoundsSaga implements ServiceSaga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= 2 ? end('completed') : phase(CallOut);
  }
  async mayAct({ service }: ServiceIdentity): Promise<boolean> {
    rights.asked += 1;
    return service === 'keeper' && rights.mayAct;
  }
}

@Injectable()
@Workflow('members', { version: 1 })
class MembersSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>): Next {
    return cursor.done >= 2 ? end('completed') : phase(CallOut);
  }
}

describe('the work of services', () => {
  let database: TestDatabase;
  let superuser: Pool;
  const engines: EngineHarness[] = [];
  const keeper = (context: ServiceIdentity['context'] = platformContext): ServiceIdentity => ({ service: 'keeper', context });
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;
  const ended = (id: string) =>
    eventually(
      () => head(id),
      ({ ended_at }) => ended_at !== null,
    );
  const engine = async (parts: Type[] = [CallOutHandler, RoundsSaga, MembersSaga]): Promise<EngineHarness> => {
    const providers = [{ provide: getDataSourceToken('worker'), useValue: database.worker }];
    const started = await startEngine(database, parts, { providers, node: `services-${engines.length}` });
    engines.push(started);
    return started;
  };
  const serve = async (identity = keeper(), db = database.worker, id = uuidv7()): Promise<string> => {
    await transact(db, identity.context, async (tx) => ok(await admitServiceExecution(tx, identity, { id, name: 'rounds', version: 1, cursor: { done: 0 }, subjectId: null })));
    return id;
  };

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
  });
  beforeEach(() => Object.assign(rights, { mayAct: true, asked: 0, sent: [] }));
  afterEach(async () => {
    for (const started of engines.splice(0)) await started.stop();
  });
  afterAll(async () => {
    await superuser.end();
    await database.close();
  });

  test('a service works for the platform and for one organization, as no member, and is asked for its right before each phase and each send', async () => {
    const tenant = newTenant();
    const ids = [await serve(), await serve(keeper(tenant))];
    await engine();
    for (const id of ids) expect(await ended(id)).toMatchObject({ state: 'completed', service: 'keeper', member_id: null });
    expect(rights.sent).toHaveLength(4);
    expect(rights.asked).toBeGreaterThanOrEqual(8);
    expect(await rowsOf(superuser, 'select 1 from product_event_inbox union all select 1 from product_event')).toEqual([]);
  });

  test('a service that has lost its right sends nothing more: not when its work is taken up, and not when a call is already saved', async () => {
    rights.mayAct = false;
    const refused = await serve();
    await engine();
    expect(await ended(refused)).toMatchObject({ state: 'failed', failure_category: 'access_lost' });
    expect(rights.sent).toEqual([]);

    await engines.splice(0)[0]!.stop();
    rights.mayAct = true;
    const started = await startEngine(database, [CallOutHandler, RoundsSaga], {
      node: 'services-late',
      reach: (point) => {
        if (point === 'call:sending') rights.mayAct = rights.sent.length === 0;
      },
    });
    engines.push(started);
    const late = await serve();
    expect(await ended(late)).toMatchObject({ state: 'failed', failure_category: 'access_lost' });
    expect(rights.sent).toEqual([1]);
    expect(await rowsOf(superuser, 'select step, state from execution_call where execution_id = $1 order by step', [late])).toEqual([
      { step: 1, state: 'succeeded' },
      { step: 2, state: 'abandoned' },
    ]);
  });

  test('nobody is admitted into the work of another: not a member into a service’s, not a service into a member’s, not a tenant into the platform', async () => {
    const tenant = newTenant();
    const refused = { code: '23000' };
    await expect(admit(database, tenant, 'keeper/rounds', { done: 0 })).rejects.toMatchObject(refused);
    await expect(admit(database, tenant, 'keeper/rounds', { done: 0 }, { memberId: uuidv7() })).rejects.toMatchObject(refused);
    const wire = { id: uuidv7(), organization: tenant.organizationId, project: tenant.projectId, version: 1, cursor: {}, subject: null, identity: null, ready: true };
    const sendIn = (item: object) => transact(database.worker, tenant, async (tx) => ok(await tx.query('select admit_executions($1::jsonb)', [JSON.stringify([item])])));
    await expect(sendIn({ ...wire, workflow: 'members', member: null, service: 'keeper' })).rejects.toMatchObject(refused);
    await expect(sendIn({ ...wire, workflow: 'other/rounds', member: null, service: 'keeper' })).rejects.toMatchObject(refused);
    await expect(sendIn({ ...wire, workflow: 'keeper/rounds', member: uuidv7(), service: 'keeper' })).rejects.toMatchObject(refused);
    await expect(
      transact(database.worker, platformContext, async (tx) =>
        ok(
          await tx.query('select admit_executions($1::jsonb)', [
            JSON.stringify([{ ...wire, organization: platformContext.organizationId, project: platformContext.projectId, workflow: 'members', member: null }]),
          ]),
        ),
      ),
    ).rejects.toMatchObject(refused);
    expect(await rowsOf(superuser, 'select 1 from execution where organization_id = $1', [tenant.organizationId])).toEqual([]);
  });

  test('a row that says otherwise than its workflow ends before anything of it runs', async () => {
    const tenant = newTenant();
    const [asService, asMember] = [await admit(database, tenant, 'members', { done: 0 }), await serve(keeper(tenant))];
    await superuser.query(`update execution set service = 'keeper' where id = $1`, [asService]);
    await superuser.query(`update execution set service = null, member_id = $2 where id = $1`, [asMember, uuidv7()]);
    await engine();
    for (const id of [asService, asMember]) expect(await ended(id)).toMatchObject({ state: 'failed', failure_category: 'wrong_owner' });
    expect(rights.sent).toEqual([]);
  });

  test("the API's login cannot enter the platform's context: it sees nothing there and admits nothing", async () => {
    const id = await serve();
    const seen = (db: TestDatabase['api']) => read(db, platformContext, (tx) => tx.query<unknown[]>('select 1 from execution where id = $1', [id]));
    expect(await seen(database.worker)).toHaveLength(1);
    expect(await seen(database.api)).toEqual([]);
    await expect(serve(keeper(), database.api)).rejects.toMatchObject({ code: '42501' });
    expect(
      await poolOf(database.api)
        .query('select 1 from execution')
        .then(({ rows }) => rows),
    ).toEqual([]);
    await superuser.query('update execution set owner = null, epoch = null, claim_id = null, runnable_at = null where id = $1', [id]);
  });

  test('keys of a service are its own: a member with the same key has another', async () => {
    const tenant = newTenant();
    const memberId = uuidv7();
    const [own, member, other] = [
      await keyedByService(sealingOf(database), keeper(tenant), 'key', { a: 1 }),
      await keyed(sealingOf(database), { context: tenant, memberId }, 'key', { a: 1 }),
      await keyedByService(sealingOf(database), { service: 'other', context: tenant }, 'key', { a: 1 }),
    ];
    expect(own.scopeId).toBe(serviceScope('keeper'));
    expect(new Set([own, member, other].map(({ scopeId }) => scopeId)).size).toBe(3);
    expect(new Set([own, member, other].map(({ keyMac }) => keyMac.toString('hex'))).size).toBe(3);
  });

  test('a build that mixes the two up does not start', () => {
    const workflows = new Workflows();
    expect(() => workflows.register({ name: 'keeper/rounds', version: 1 }, new MembersSaga())).toThrow(/service/);
    expect(() => workflows.register({ name: 'members', version: 1, service: 'keeper' }, new RoundsSaga())).toThrow(/service/);
    expect(() => workflows.register({ name: 'keeper/rounds', version: 1, service: 'keeper' }, new MembersSaga())).toThrow(/may act/);
  });

  test('maintenance: one standing execution of the platform takes the rows of killed processes away, and no other', async () => {
    await superuser.query(`insert into node (name, epoch, beat) values ('killed', 3, 7)`);
    const parts = [StartMaintenanceHandler, NodeSweepSaga, SweepNodesHandler];
    const start = new StartMaintenanceHandler(database.worker);
    const started = await Promise.all(Array.from({ length: 4 }, () => start.execute(new StartMaintenanceCommand(300))));
    expect(started.filter(Boolean)).toHaveLength(1);
    // A node that beats: its lease is short enough to be seen at each sweep.
    const providers = [{ provide: getDataSourceToken('worker'), useValue: database.worker }];
    engines.push(await startEngine(database, parts, { providers, node: 'alive', leaseMs: 600 }));
    await eventually(async () => (await rowsOf(superuser, `select 1 from node where name = 'killed'`)).length === 0);
    expect(await rowsOf(superuser, `select name from node`)).toEqual([{ name: 'alive' }]);
    const [work, ...others] = await rowsOf(superuser, `select * from execution where workflow = 'maintenance/nodes'`);
    expect(others).toEqual([]);
    expect(work).toMatchObject({ organization_id: platformContext.organizationId, service: 'maintenance', ended_at: null });
  });
});
