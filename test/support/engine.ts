import { Module, type Provider, type Type } from '@nestjs/common';
import { CommandBus, CqrsModule } from '@nestjs/cqrs';
import { NestFactory } from '@nestjs/core';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { admitExecution, type NewExecution } from '@engine/admit.js';
import { Engine, type EngineOptions } from '@engine/engine.js';
import { openEvent, type EventRow } from '@engine/events.js';
import { requestCancel, sendSignal } from '@engine/executions.js';
import type { Sealing } from '@engine/sealing.js';
import type { WakeChannel } from '@engine/wake-channel.js';
import { Workflows } from '@engine/workflows.js';
import { transact, transactStored } from '@platform/database/transact.js';
import { InProcessWake } from '@platform/wake/in-process-wake.js';
import { Sealer } from '@platform/secrets/sealer.js';
import type { Config } from '@platform/config/config.js';
import type { TestDatabase } from './database.js';

export type Tenant = { readonly organizationId: string; readonly projectId: string };
export const poolOf = (database: DataSource): Pool => (database.driver as unknown as { master: Pool }).master;

export type EngineHarness = {
  readonly engine: Engine;
  readonly wake: WakeChannel;
  readonly sealing: Sealing;
  readonly errors: { cause: unknown; category: string; executionId: string | null }[];
  readonly points: string[];
  stop(): Promise<void>;
};

const testKey = { id: 'test', key: Buffer.alloc(32, 7) };

export const sealingOf = (database: TestDatabase): Sealing => new Sealer(database.api, { encryptionKeys: [testKey] } as unknown as Config);

/** A real engine over a test's database with the sagas and phase handlers that the test brings. */
export async function startEngine(
  database: TestDatabase,
  parts: readonly Type[],
  options: Partial<EngineOptions> & { wake?: WakeChannel; reach?: (point: string) => void; providers?: Provider[] } = {},
): Promise<EngineHarness> {
  @Module({ imports: [CqrsModule.forRoot()], providers: [...parts, ...(options.providers ?? [])] })
  class EngineTestModule {}

  const nest = await NestFactory.createApplicationContext(EngineTestModule, { logger: false });
  const workflows = new Workflows();
  workflows.registerAll(parts.map((metatype) => ({ metatype, instance: nest.get(metatype, { strict: false }) })));
  const errors: EngineHarness['errors'] = [];
  const points: string[] = [];
  const wake = options.wake ?? new InProcessWake();
  const sealing = sealingOf(database);
  const engine = new Engine(
    {
      pool: poolOf(database.worker),
      commands: nest.get(CommandBus),
      workflows,
      sealing,
      wake,
      transact: (context, work) => transactStored(database.worker, context, work),
      recordError: (cause, { executionId, category }) => {
        errors.push({ cause, category, executionId });
        return { category, errorId: uuidv7() };
      },
      publicErrorId: (id) => `err_${id}`,
      report: (cause, category) => void errors.push({ cause, category, executionId: null }),
      reach: (point) => {
        points.push(point);
        options.reach?.(point);
      },
    },
    { node: 'test', leaseMs: 10_000, graceMs: 5_000, slots: 100, connection: { connectionString: database.workerUrl }, ...options },
  );
  await engine.start();
  return {
    engine,
    wake,
    sealing,
    errors,
    points,
    stop: async () => {
      await engine.stop();
      await nest.close();
    },
  };
}

export const newTenant = (): Tenant => ({ organizationId: uuidv7(), projectId: uuidv7() });

/** Admits work as an API process would, without any hint. */
export async function admit(database: TestDatabase, context: Tenant, workflow: string, cursor: object = {}, more: Partial<NewExecution> = {}): Promise<string> {
  const admitted = await transact(database.api, context, async (tx) =>
    ok(await admitExecution(tx, { context, workflow, version: 1, cursor, subjectId: null, identityId: null, memberId: null, ready: true, ...more })),
  );
  if (!admitted.ok) throw new Error('admission has no failures');
  return admitted.value;
}

export const signal = (database: TestDatabase, context: Tenant, id: string, name: string, number?: number) =>
  transact(database.api, context, async (tx) => ok(await sendSignal(tx, id, { name, ...(number === undefined ? {} : { number }) })));

export const cancel = (database: TestDatabase, context: Tenant, id: string) => transact(database.api, context, async (tx) => ok(await requestCancel(tx, id)));

/** Rows as the superuser sees them. A test that names no type says by its expectations what they hold. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
export async function rowsOf<R extends object = Record<string, any>>(pool: Pool, sql: string, values: unknown[] = []): Promise<R[]> {
  return (await pool.query<R>(sql, values)).rows;
}

export async function logOf(pool: Pool, sealing: Sealing, organizationId: string, id: string) {
  const rows = await rowsOf<EventRow>(pool, 'select * from execution_event where execution_id = $1 order by sequence', [id]);
  const key = await sealing.keyOf(organizationId);
  return rows.map((row) => ({ sequence: row.sequence, ...openEvent(key, row) }));
}
