import { Global, Inject, Logger, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { Engine } from '@engine/engine.js';
import type { EngineObserver } from '@engine/observer.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { Workflows } from '@engine/workflows.js';
import { Config } from '@platform/config/config.js';
import { readReplication } from '@platform/database/replication.js';
import { transactStored } from '@platform/database/transact.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { engineObserver } from '@platform/observability/observers.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { debugPoint } from './debug-point.js';

const workerDatabase = getDataSourceToken('worker');
const poolOf = (database: DataSource): Pool => (database.driver as unknown as { master: Pool }).master;

/** Starts the engine once every module is ready, and lets it leave in order before connections close. */
class EngineLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(Engine) private readonly engine: Engine,
    @Inject(Workflows) private readonly workflows: Workflows,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(workerDatabase) private readonly database: DataSource,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.workflows.registerAll(this.discovery.getProviders());
    await this.engine.start();
    void this.warnOfLoss();
  }

  /** Once for each start, which does not wait for it: what a failover would lose is the operator's to know before it happens. */
  private async warnOfLoss(): Promise<void> {
    const replication = await readReplication(poolOf(this.database)).catch(() => null);
    if (replication?.status !== 'asynchronous') return;
    const advice = 'a failover loses commits that a standby has not received: set synchronous_standby_names (docs/failover.md)';
    new Logger(Engine.name).warn({ event: 'replication is asynchronous', standbys: replication.standbys, advice });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }
}

/** In the order in which they are injected. */
type Parts = readonly [Config, DataSource, CommandBus, Workflows, Sealer, WakeChannel, ErrorRecords, EngineObserver];

/** The worker role: the engine on the worker's login, with every workflow that the process's modules provide. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    Workflows,
    {
      provide: Engine,
      inject: [Config, workerDatabase, CommandBus, Workflows, Sealer, WakeChannel, ErrorRecords, engineObserver],
      useFactory: (...[config, database, commands, workflows, sealing, wake, errors, observer]: Parts) => {
        const logger = new Logger(Engine.name);
        const { url } = database.options as { readonly url?: string };
        if (!url) throw new Error('the engine needs a worker database that is named by a URL');
        return new Engine(
          {
            pool: poolOf(database),
            commands,
            workflows,
            sealing,
            wake,
            transact: (context, work) => transactStored(database, context, work),
            recordError: (cause, { context, executionId, category }) => errors.record(cause, { ...context, executionId, category }),
            publicErrorId: (id) => toPublicId('error', id),
            report: (cause, category) => logger.warn({ category, type: cause instanceof Error ? cause.name : typeof cause, code: (cause as { code?: unknown } | null)?.code }),
            reach: debugPoint(config.debugPoint),
            observer,
          },
          { node: config.nodeName, leaseMs: config.leaseMs, graceMs: config.graceMs, slots: config.workerSlots, connection: { connectionString: url } },
        );
      },
    },
    EngineLifecycle,
  ],
  exports: [Engine],
})
export class EngineModule {}
