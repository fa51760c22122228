import type { ModuleRef } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { Engine } from '@engine/engine.js';
import { EventHub } from '@engine/reading/event-hub.js';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Figure, Metrics } from '@platform/observability/metrics.js';
import { find } from './find-provider.js';

const poolOf = (database: DataSource): Pool => (database.driver as unknown as { master: Pool }).master;
const one = (value: number): readonly Figure[] => [{ value }];

/** Figures that are there anyway, read whenever the page is. */
export function measureProcess(metrics: Metrics, modules: ModuleRef): void {
  const engine = find(modules, Engine);
  if (engine) {
    metrics.gauge('openbot_executions_running', 'Executions that this node owns and advances.', () => one(engine.running));
    metrics.gauge('openbot_slots', 'Executions that this node advances at most.', () => one(engine.slots));
    metrics.gauge('openbot_lease_held', 'Whether this node may own work now.', () => one(Number(engine.isAlive())));
  }
  const hub = find<EventHub>(modules, EventHub);
  if (hub) {
    metrics.gauge('openbot_hub_readers', 'Open readers of event logs.', () => one(hub.figures.readers));
    metrics.gauge('openbot_hub_logs', 'Event logs that are followed.', () => one(hub.figures.logs));
    metrics.count('openbot_hub_queries_total', 'Queries for all readers together.', () => one(hub.figures.queries));
  }
  const wake = find(modules, WakeChannel);
  if (wake) {
    metrics.count('openbot_wake_hints_sent_total', 'Ids that other nodes were told of.', () => one(wake.traffic.sent));
    metrics.count('openbot_wake_hints_received_total', 'Ids that other nodes told of.', () => one(wake.traffic.received));
    metrics.gauge('openbot_wake_channel_up', 'Whether the way to the other nodes is open; absent where there is none.', () =>
      wake.isOpen === null ? [] : one(Number(wake.isOpen)),
    );
  }
  const pools = [['api', find(modules, DataSource)] as const, ['worker', find<DataSource>(modules, getDataSourceToken('worker') as string)] as const];
  metrics.gauge('openbot_pool_connections', 'Connections of a pool: in use, idle, and how many callers wait for one.', () =>
    pools.flatMap(([pool, database]) => {
      if (!database?.isInitialized) return [];
      const { totalCount, idleCount, waitingCount } = poolOf(database);
      const states = { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
      return Object.entries(states).map(([state, value]) => ({ labels: { pool, state }, value }));
    }),
  );
}
