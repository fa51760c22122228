import { Logger } from '@nestjs/common';
import { InProcessWake } from '@platform/wake/in-process-wake.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { describeWakeChannel } from './wake-conformance.js';

// Lost connections and listeners with faults are what these tests make.
Logger.overrideLogger(false);

let database: TestDatabase;
beforeAll(async () => (database = await openTestDatabase()));
afterAll(() => database.close());

describeWakeChannel('in process', async () => ({ wake: new InProcessWake(), close: async () => undefined }));

describeWakeChannel('LISTEN and NOTIFY', async () => {
  const wake = new NotifyWake({ url: database.apiUrl });
  wake.onModuleInit();
  return { wake, close: () => wake.onApplicationShutdown() };
});

describeWakeChannel('LISTEN and NOTIFY, without a server', async () => {
  const wake = new NotifyWake({ url: 'postgres://openbot@127.0.0.1:1/openbot' });
  wake.onModuleInit();
  return { wake, close: () => wake.onApplicationShutdown() };
});
