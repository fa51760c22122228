import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { debugPoint } from '@platform/engine/debug-point.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { startEngine } from '@test/support/engine.js';
import { matrixParts } from './matrix-work.js';
import { troubleParts } from './trouble-work.js';

export type ProcessOptions = { readonly url: string; readonly apiUrl: string; readonly workerUrl: string; readonly node: string; readonly leaseMs: number; readonly armed: string };

/** One worker of the matrix, in a process of its own. Says `started` once it may claim. */
async function main({ url, apiUrl, workerUrl, node, leaseMs, armed }: ProcessOptions): Promise<void> {
  const open = (login: string, role: 'api' | 'worker'): Promise<DataSource> => new DataSource(dataSourceOptions(login, role, 4)).initialize();
  const [api, worker] = await Promise.all([open(apiUrl, 'api'), open(workerUrl, 'worker')]);
  const wake = new NotifyWake({ url: workerUrl, testMs: 500, answerMs: 1_000 });
  wake.onModuleInit();
  const database = { url, apiUrl, workerUrl, api, worker, close: () => Promise.resolve() };
  await startEngine(database, [...matrixParts, ...troubleParts], { node, leaseMs, wake, reach: debugPoint(`file:${armed}`) });
  process.send?.('started');
}

// A worker without its test is of no use to anybody.
process.on('disconnect', () => process.exit(1));
main(JSON.parse(process.argv[2] ?? '{}') as ProcessOptions).catch((error: unknown) => {
  process.send?.((error as Error).stack ?? String(error), undefined, undefined, () => process.exit(1));
});
