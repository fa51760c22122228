import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Caller, TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { identityOf, pathOf, startExecutionApp } from './execution-app.js';
import { text, type StoredWork } from './stored-work.js';

const observers = 500;
/** As a model's text is flushed. */
const eventEveryMs = 50;
const requests = 200;

let database: TestDatabase;
let app: TestApp;
let work: StoredWork;
let owner: Caller;
let who: Identity;

beforeAll(async () => {
  database = await openTestDatabase();
  ({ app, work } = await startExecutionApp(database, { DATABASE_API_CONNECTIONS: '10' }));
  owner = await app.createTenant();
  who = await identityOf(owner);
});
afterAll(async () => {
  await app.close();
  await database.close();
});

/** Milliseconds of the 95th percentile, one request after the other, while the execution's text comes in. */
async function p95WhileWriting(id: string): Promise<number> {
  const stop = new AbortController();
  const writer = (async () => {
    for await (const _ of setInterval(eventEveryMs, null, { signal: stop.signal })) {
      await work.append(who, id, text('some words of an answer '));
      app.nest.get(WakeChannel).publish([id]);
    }
  })().catch((error: Error) => expect(error.name).toBe('AbortError'));
  const times: number[] = [];
  for (let request = 0; request < requests; request += 1) {
    const since = performance.now();
    expect((await owner.call('GET', '/v1/me')).status).toBe(200);
    times.push(performance.now() - since);
  }
  stop.abort();
  await writer;
  return times.sort((a, b) => a - b)[Math.floor(requests * 0.95)] as number;
}

test('500 observers of one execution with a pool of 10: other requests stay within three times, and every observer gets every event', async () => {
  const id = await work.admit(who);
  await p95WhileWriting(id);
  const before = await p95WhileWriting(id);

  const child = fork(join(__dirname, 'observers.cjs'), [`${app.url}${pathOf(id, '/observe')}`, owner.token, String(observers)]);
  expect((await once(child, 'message'))[0]).toBe('open');
  const during = await p95WhileWriting(id);
  const report = once(child, 'message');
  const last = await work.end(who, id);
  app.nest.get(WakeChannel).publish([id]);
  expect((await report)[0]).toEqual({ seen: Array.from({ length: observers }, () => last) });
  child.disconnect();
  await once(child, 'exit');

  const after = await p95WhileWriting(await work.admit(who));
  const without = Math.max(before, after);
  console.info(`p95 of GET /v1/me: ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms with ${observers} observers, ${after.toFixed(1)} ms after`);
  expect(during).toBeLessThanOrEqual(3 * without);
}, 180_000);
