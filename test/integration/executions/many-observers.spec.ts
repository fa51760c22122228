import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { accepted, eventsOf, openServerWorld, request, type Receipt, type ServerWorld } from '@test/recovery/server/server-world.js';
import type { LocalIdentity } from '@test/support/server-process.js';

const observers = 500;
const requests = 200;
/** As fast as a model's text is flushed, for as long as anybody measures. */
const endless = '{"deltas":10000,"delayMs":50}';

let world: ServerWorld;
let server: LocalIdentity;
let bot: string;

beforeAll(async () => {
  world = await openServerWorld();
  const place = await world.place({ node: 'observed', env: { DATABASE_API_CONNECTIONS: '10', OPENBOT_LEASE_MS: '10000' } });
  server = (await place.start()).local;
  bot = (await accepted(server, 'POST', '/v1/bots', { name: 'Talker', model: { provider: 'development', model: 'mock-slow' } })).id as string;
}, 60_000);
afterAll(() => world.close());

/** Milliseconds of the 95th percentile, one request after the other, while a turn streams its text. */
async function p95(): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < requests; count += 1) {
    const since = performance.now();
    expect((await request(server, 'GET', '/v1/me')).status).toBe(200);
    times.push(performance.now() - since);
  }
  return times.sort((a, b) => a - b)[Math.floor(requests * 0.95)] as number;
}

test('500 observers of one execution with a pool of 10: other requests of the server stay within three times, and every observer gets every event', async () => {
  const receipt = (await accepted(server, 'POST', `/v1/bots/${bot}/messages`, { input: endless, commandKey: 'talk' })) as Receipt;
  await world.text(receipt);
  await p95();
  const before = await p95();

  const child = fork(join(__dirname, 'observers.cjs'), [`${server.url}/v1/executions/${receipt.executionId}/observe`, server.token, String(observers)]);
  expect((await once(child, 'message'))[0]).toBe('open');
  const during = await p95();
  const report = once(child, 'message');
  await accepted(server, 'POST', `/v1/chats/${receipt.chat}/interrupt`, { commandKey: 'enough' });
  const [{ seen }] = (await report) as [{ seen: number[] }];
  child.disconnect();
  await once(child, 'exit');
  const events = (await eventsOf(server, receipt)).length;
  expect(seen).toEqual(Array.from({ length: observers }, () => events));

  const next = (await accepted(server, 'POST', `/v1/bots/${bot}/messages`, { input: endless, commandKey: 'talk again' })) as Receipt;
  await world.text(next);
  const after = await p95();
  const ratio = during / Math.max(before, after);
  console.info(`p95 of GET /v1/me: ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms with ${observers} observers, ${after.toFixed(1)} ms after: ${ratio.toFixed(2)} times`);
  expect(ratio).toBeLessThanOrEqual(3);
}, 180_000);
