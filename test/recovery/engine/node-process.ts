import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { debugPoint } from '@platform/engine/debug-point.js';
import { startEngine } from '@test/support/engine.js';
import { partsOf, running } from './crash-work.js';

export type NodeOptions = {
  readonly url: string;
  readonly apiUrl: string;
  readonly workerUrl: string;
  readonly node: string;
  readonly leaseMs: number;
  readonly workflows: readonly string[];
  readonly graceMs?: number;
  readonly debugPoint?: string;
};

/** A worker of its own: `node -r … node-process.ts <options>`. Says `started` or the name of what kept it from it; leaves in order on SIGTERM. */
async function main({ url, apiUrl, workerUrl, node, leaseMs, workflows, graceMs = 5_000, debugPoint: point }: NodeOptions): Promise<void> {
  const open = (login: string, role: 'api' | 'worker'): Promise<DataSource> => new DataSource(dataSourceOptions(login, role, 5)).initialize();
  const [api, worker] = await Promise.all([open(apiUrl, 'api'), open(workerUrl, 'worker')]);
  const database = { url, apiUrl, workerUrl, api, worker, close: () => Promise.resolve() };
  const harness = await startEngine(database, partsOf(workflows), { node, leaseMs, graceMs, reach: debugPoint(point ?? null) });
  running.count = () => harness.engine.running;
  process.once('SIGTERM', () => void harness.stop().then(() => process.exit(0)));
  process.send?.('started');
}

// A worker without its test is of no use to anybody.
process.on('disconnect', () => process.exit(1));
main(JSON.parse(process.argv[2] ?? '{}') as NodeOptions).catch((error: unknown) => {
  process.send?.((error as Error).constructor.name, undefined, undefined, () => process.exit(1));
});
