import 'reflect-metadata';
import type { DynamicModule, INestApplicationContext, Provider, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus, CqrsModule } from '@nestjs/cqrs';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { Engine } from '@engine/engine.js';
import type { Sealing } from '@engine/sealing.js';
import { Workflows } from '@engine/workflows.js';
import type { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { migrate } from '@platform/database/migrate.js';
import { transact } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';

class BenchModule {}

export const poolOf = (database: DataSource): Pool => (database.driver as unknown as { master: Pool }).master;

export function settings(): Config {
  const config = loadConfig({ OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` });
  if (!config.ok) throw new Error(`${config.failure.variable} ${config.failure.expected}`);
  return config.value;
}

export type Logins = { readonly databaseApiUrl: string; readonly databaseWorkerUrl: string };
export const prepare = (adminUrl: string): Promise<Logins> =>
  migrate({ databaseUrl: adminUrl, databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys: settings().encryptionKeys });

export type BenchNode = {
  readonly api: DataSource;
  readonly wake: NotifyWake;
  readonly sealing: Sealing;
  readonly engine: Engine;
  readonly nest: INestApplicationContext;
  close(): Promise<void>;
};

/** A node as `npm start` composes it, with its pools' default sizes, its slots and its wake channel. The engine is not started yet. */
export async function createNode({ databaseApiUrl, databaseWorkerUrl }: Logins, saga: Type, providers: readonly Provider[], name: string): Promise<BenchNode> {
  const config = settings();
  const api = await new DataSource(dataSourceOptions(databaseApiUrl, 'api', config.apiConnections)).initialize();
  const worker = await new DataSource(dataSourceOptions(databaseWorkerUrl, 'worker', config.workerConnections)).initialize();
  const parts: DynamicModule = { module: BenchModule, imports: [CqrsModule.forRoot()], providers: [saga, ...providers] };
  const nest = await NestFactory.createApplicationContext(parts, { logger: false });
  const workflows = new Workflows();
  workflows.registerAll([{ instance: nest.get<object>(saga), metatype: saga }]);
  const wake = new NotifyWake({ url: databaseWorkerUrl });
  wake.onModuleInit();
  const sealing = new Sealer(api, config);
  const fail = (cause: unknown): never => {
    throw cause;
  };
  const engine = new Engine(
    {
      pool: poolOf(worker),
      commands: nest.get(CommandBus),
      workflows,
      sealing,
      wake,
      transact: (context, work) => transact(worker, context, work),
      recordError: fail,
      publicErrorId: (id) => id,
      report: (cause) => console.error(cause),
      reach: () => undefined,
    },
    { node: name, leaseMs: config.leaseMs, graceMs: config.graceMs, slots: config.workerSlots, connection: { connectionString: databaseWorkerUrl } },
  );
  return {
    api,
    wake,
    sealing,
    engine,
    nest,
    close: async () => {
      await engine.stop();
      await wake.onApplicationShutdown();
      await nest.close();
      await Promise.all([api.destroy(), worker.destroy()]);
    },
  };
}
