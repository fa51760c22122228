import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus, CqrsModule } from '@nestjs/cqrs';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Admissions } from '@engine/admissions.js';
import { Engine } from '@engine/engine.js';
import { Workflows } from '@engine/workflows.js';
import { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { migrate } from '@platform/database/migrate.js';
import { transact } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import type { Contestant } from './contestant.js';
import { EndObserver } from './end-observer.js';
import { NoOpSaga, NoOpStepHandler, NoOpWatch, type NoOpCursor } from './no-op-work.js';

@Module({ imports: [CqrsModule.forRoot()], providers: [NoOpWatch, NoOpStepHandler, NoOpSaga] })
class NoOpModule {}

const poolOf = (database: DataSource): Pool => (database.driver as unknown as { master: Pool }).master;

function settings(): Config {
  const config = loadConfig({ OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` });
  if (!config.ok) throw new Error(`${config.failure.variable} ${config.failure.expected}`);
  return config.value;
}

/** The engine as `npm start` composes it, with its pools' default sizes, its slots and its wake channel; API and worker in one process. */
export async function open(adminUrl: string): Promise<Contestant> {
  const config = settings();
  const { databaseApiUrl, databaseWorkerUrl } = await migrate({ databaseUrl: adminUrl, databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys: config.encryptionKeys });
  const api = await new DataSource(dataSourceOptions(databaseApiUrl, 'api', config.apiConnections)).initialize();
  const worker = await new DataSource(dataSourceOptions(databaseWorkerUrl, 'worker', config.workerConnections)).initialize();
  const nest = await NestFactory.createApplicationContext(NoOpModule, { logger: false });
  const watch = nest.get(NoOpWatch);
  const workflows = new Workflows();
  workflows.registerAll([{ instance: nest.get(NoOpSaga), metatype: NoOpSaga }]);
  const wake = new NotifyWake({ url: databaseWorkerUrl });
  wake.onModuleInit();
  const fail = (cause: unknown): never => {
    throw cause;
  };
  const engine = new Engine(
    {
      pool: poolOf(worker),
      commands: nest.get(CommandBus),
      workflows,
      sealing: new Sealer(api, config),
      wake,
      transact: (context, work) => transact(worker, context, work),
      recordError: fail,
      publicErrorId: (id) => id,
      report: (cause) => console.error(cause),
      reach: () => undefined,
    },
    { node: config.nodeName, leaseMs: config.leaseMs, graceMs: config.graceMs, slots: config.workerSlots, connection: { connectionString: databaseWorkerUrl } },
  );
  await engine.start();

  const context = { organizationId: uuidv7(), projectId: uuidv7() };
  const observer = await EndObserver.open(databaseApiUrl, context, wake, watch);
  const admissions = new Admissions(poolOf(api));
  const admit = async (id: string, cursor: NoOpCursor): Promise<void> => {
    await admissions.admit({ id, context, workflow: 'no-op', version: 1, cursor, subjectId: null, identityId: null, memberId: null, ready: true });
    wake.publish([id]);
  };

  return {
    run: async (steps) => {
      const id = uuidv7();
      const ended = observer.ended(id);
      await admit(id, { steps, done: 0 });
      await ended;
    },
    msToStart: async () => {
      const id = uuidv7();
      const begin = performance.now();
      const started = new Promise<number>((resolve) => watch.started.set(id, () => resolve(performance.now() - begin)));
      const ended = observer.ended(id);
      await admit(id, { steps: 1, done: 0 });
      const ms = await started;
      watch.started.delete(id);
      await ended;
      return ms;
    },
    close: async () => {
      await observer.close();
      await engine.stop();
      await wake.onApplicationShutdown();
      await nest.close();
      await Promise.all([api.destroy(), worker.destroy()]);
    },
  };
}
