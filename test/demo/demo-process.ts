import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { startEngine } from '@test/support/engine.js';
import { errandParts } from './errand.js';

export type DemoProcessOptions = { readonly url: string; readonly apiUrl: string; readonly workerUrl: string; readonly node: string; readonly leaseMs: number };

async function main({ url, apiUrl, workerUrl, node, leaseMs }: DemoProcessOptions): Promise<void> {
  const open = (login: string, role: 'api' | 'worker'): Promise<DataSource> => new DataSource(dataSourceOptions(login, role, 4)).initialize();
  const [api, worker] = await Promise.all([open(apiUrl, 'api'), open(workerUrl, 'worker')]);
  const wake = new NotifyWake({ url: workerUrl });
  wake.onModuleInit();
  await startEngine({ url, apiUrl, workerUrl, api, worker, close: () => Promise.resolve() }, errandParts, { node, leaseMs, wake });
  process.send?.('started');
}

process.on('disconnect', () => process.exit(1));
main(JSON.parse(process.argv[2] ?? '{}') as DemoProcessOptions).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exit(1);
});
