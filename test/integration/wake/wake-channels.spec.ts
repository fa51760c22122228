import { Logger } from '@nestjs/common';
import { InProcessWake } from '@platform/wake/in-process-wake.js';
import { NotifyWake } from '@platform/wake/notify-wake.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { startRedis, type TestRedis } from '@test/support/redis.js';
import { describeWith } from '@test/support/services.js';
import { openRedisWake } from './redis-wake-node.js';
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

describeWith('redis-server')('Redis', () => {
  let redis: TestRedis;
  beforeAll(async () => (redis = await startRedis()));
  afterAll(() => redis.close());

  describeWakeChannel('Redis', () => openRedisWake(redis.url));

  describeWakeChannel('Redis, in a process that only serves the API', () => openRedisWake(redis.url, { worker: false }));
});

describeWakeChannel('Redis, without a server', () => openRedisWake('redis://127.0.0.1:1'));
