import { NodeLiveness } from '@engine/node-liveness.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { startTcpProxy, type Passage, type TcpProxy } from '@test/support/tcp-proxy.js';

let database: TestDatabase;
let proxy: TcpProxy;
beforeAll(async () => {
  database = await openTestDatabase(2);
  proxy = await startTcpProxy(database.workerUrl);
});
afterAll(async () => {
  await proxy.close();
  await database.close();
});

test('a beat whose answer comes late does not bring back a right that somebody was told is gone', async () => {
  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const holdsAnswers = (): Passage => async (chunk, direction) => {
    if (direction === 'down') await held;
    return { pass: chunk };
  };
  let lost = false;
  const liveness = new NodeLiveness({ connectionString: proxy.url }, 'late', 1_500, () => (lost = true));
  await liveness.start();
  expect(liveness.isAlive()).toBe(true);
  // The next beat is sent in time, and its answer is on the way when the lease ends.
  proxy.through(holdsAnswers);
  await eventually(() => !liveness.isAlive());
  letGo();
  await eventually(() => lost);
  expect(liveness.isAlive()).toBe(false);
  await liveness.stop();
});
