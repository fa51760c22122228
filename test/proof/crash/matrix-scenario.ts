import { Pool } from 'pg';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { openTestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, sealingOf, signal } from '@test/support/engine.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import type { Call, Decided, Scenario } from './lane.js';
import { goOn, matrixWorkflow, type MatrixCursor } from './matrix-work.js';
import { answerTo, type Outside } from './outside.js';
import { portraitOf, type Portrait } from './portrait.js';
import { startEngineWorker } from './worker.js';

/** The engine with a workflow of the matrix's own, on a database of its own. */
export async function openMatrixScenario(outside: Outside): Promise<Scenario<Portrait>> {
  const database = await openTestDatabase(4);
  const superuser = new Pool({ connectionString: database.url, max: 4 });
  await createProbeFeature(superuser);
  const wake = new NotifyWake({ url: database.apiUrl });
  wake.onModuleInit();
  const tenant = newTenant();
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
      const cursor: MatrixCursor = { done: 0, outside: outside.url };
      const id = await admit(database, tenant, matrixWorkflow.workflow, cursor, { subjectId: await newProbe(superuser, tenant) });
      wake.publish([id]);
      return id;
    },
    feed: async ({ id }, hints) => {
      if (fed.has(id)) return;
      fed.add(id);
      await signal(database, tenant, id, goOn);
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
