import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { openTestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, sealingOf, signal } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import type { Call, Decided, Scenario } from './lane.js';
import { goOn, matrixWorkflow, type MatrixCursor } from './matrix-work.js';
import { answerTo, type Outside } from './outside.js';
import { portraitOf, type Portrait } from './portrait.js';
import { lateStep, troubleWorkflow, type TroubleCursor } from './trouble-work.js';
import { startEngineWorker } from './worker.js';

type Work = { readonly workflow: string; readonly cursor: object };

/** Calls of every kind; a person sends the signal that it waits for, and settles what is unknown. */
export const openMatrixScenario = (outside: Outside): Promise<Scenario<Portrait>> =>
  openScenario(outside, { workflow: matrixWorkflow.workflow, cursor: { done: 0, outside: outside.url } satisfies MatrixCursor });

/** Work with trouble of its own: a node takes it for a dead one's while its letter is outside, and the late answer settles the letter without a person. */
export async function openTroubleScenario(outside: Outside): Promise<Scenario<Portrait>> {
  const cursor: TroubleCursor = { done: 0, ended: 0, outside: outside.url };
  const scenario = await openScenario(outside, { workflow: troubleWorkflow.workflow, cursor });
  const taken = new Set<string>();
  const takeOver = `select release_executions(x.owner, x.epoch, array(select o.claim_id from execution o where o.owner = x.owner and o.id <> x.id), 1)
    from execution x join execution_call c on c.execution_id = x.id and c.step = $2 and c.state = 'sending' where x.id = $1 and x.owner is not null`;
  return {
    ...scenario,
    interfere: async ({ id }) => {
      if (taken.has(id) || !outside.requestsOf(id).some(({ step }) => step === lateStep)) return;
      if ((await rowsOf(scenario.superuser, takeOver, [id, lateStep])).length > 0) taken.add(id);
    },
    feed: () => Promise.resolve(),
    decide: async (id) => {
      await eventually(async () => (await rowsOf(scenario.superuser, `select 1 from execution_call where execution_id = $1 and state = 'unknown'`, [id])).length === 0);
      return [];
    },
  };
}

/** The engine with the matrix's workflows, on a database of its own. */
async function openScenario(outside: Outside, { workflow, cursor }: Work): Promise<Scenario<Portrait>> {
  const database = await openTestDatabase(4);
  const superuser = new Pool({ connectionString: database.url, max: 4 });
  await createProbeFeature(superuser);
  const wake = new NotifyWake({ url: database.apiUrl });
  wake.onModuleInit();
  const tenant = newTenant();
  const memberId = uuidv7();
  const sealing = sealingOf(database);
  const fed = new Set<string>();

  /** The person looks whether the outside knows of the call. */
  async function decide(id: string): Promise<readonly Decided[]> {
    const unknown = await rowsOf<Call>(
      superuser,
      `select step, name, attempt from execution_call where execution_id = $1 and state = 'unknown' and decided is null order by step`,
      [id],
    );
    const key = await sealing.keyOf(tenant.organizationId);
    const decided: Decided[] = [];
    for (const call of unknown) {
      const arrived = outside.requestsOf(id).some(({ step, name, attempt }) => step === call.step && name === call.name && attempt === call.attempt);
      const decision = arrived ? 'result' : 'retry';
      const record = `${id}:${call.step}:${call.name}:${call.attempt}:result`;
      const result = arrived ? key.seal({ table: 'execution_call', record }, JSON.stringify(answerTo(call))) : null;
      const done = await transact(database.api, tenant, async (tx) =>
        ok((await tx.query(`select decide_call($1, $2, $3, $4, $5, $6) as done`, [id, call.step, call.name, call.attempt, decision, result])) as { done: boolean }[]),
      );
      if (done.ok && done.value[0]?.done) decided.push({ ...call, decision });
    }
    wake.publish([id]);
    return decided;
  }

  return {
    superuser,
    startWorker: (options) => startEngineWorker(database, options),
    admit: async () => {
      const id = await admit(database, tenant, workflow, cursor, { subjectId: await newProbe(superuser, tenant), memberId });
      wake.publish([id]);
      return id;
    },
    feed: async ({ id }, hints) => {
      if (fed.has(id)) return;
      // A process that stands in a transaction holds the head until it goes on or its connection ends.
      const sent = await signal(database, tenant, id, goOn).then(
        () => true,
        () => false,
      );
      if (!sent) return;
      fed.add(id);
      if (hints) wake.publish([id]);
    },
    decide,
    portrait: (id) => portraitOf({ superuser, sealing, organizationId: tenant.organizationId, outside }, id),
    close: async () => {
      await wake.onApplicationShutdown();
      await superuser.end();
      await database.close();
    },
  };
}
