import { setTimeout as pause } from 'node:timers/promises';
import { openServerWorld, type ServerWorld } from '@test/recovery/server/server-world.js';
import type { ServerRun } from '@test/support/server-process.js';
import { startTcpProxy, type Passage, type TcpProxy } from '@test/support/tcp-proxy.js';
import { callAToolAndAnswer, expectAllEnded, latency, turnsDuring } from './turn-load.js';

const conversations = 6;
/** How a connection that listens names itself in its first bytes. */
const listener = 'openbot wake';

let world: ServerWorld;
let servers: readonly ServerRun[];
let proxies: readonly TcpProxy[];
let isSilent = false;
/** Connections that listened while they were silent. */
let silenced = 0;

/** Takes what a listening connection says and what is said to it, and passes nothing on; the pools beside it are undisturbed. */
const silentListeners = (): Passage => {
  let listens: boolean | null = null;
  let counted = false;
  return (chunk) => {
    listens ??= chunk.includes(listener);
    if (!listens || !isSilent) return { pass: chunk };
    if (!counted) silenced += 1;
    counted = true;
    return { pass: chunk.subarray(0, 0) };
  };
};

beforeAll(async () => {
  world = await openServerWorld();
  world.provider.whenAsked(callAToolAndAnswer);
  proxies = await Promise.all([startTcpProxy(world.database.apiUrl), startTcpProxy(world.database.workerUrl)]);
  for (const proxy of proxies) proxy.through(silentListeners);
  const urls = { apiUrl: proxies[0]!.url, workerUrl: proxies[1]!.url };
  const roles = ['api', 'api,worker', 'api,worker'];
  servers = await Promise.all(roles.map(async (OPENBOT_ROLES, n) => (await world.place({ node: `node-${n}`, urls, env: { OPENBOT_ROLES, OPENBOT_LEASE_MS: '10000' } })).start()));
});
afterAll(async () => {
  await world.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

test('every LISTEN socket goes silent under load, and each that replaces it: workers and readers get everything by polling, and hints come back', async () => {
  const heard = await turnsDuring(servers, conversations, 'heard', () => pause(8_000));
  const silent = await turnsDuring(servers, conversations, 'silent', async () => {
    isSilent = true;
    await pause(25_000);
  });
  isSilent = false;
  // New connections that hear themselves: the silent ones are given up after at most five seconds.
  await pause(8_000);
  const again = await turnsDuring(servers, conversations, 'again', () => pause(8_000));
  console.info(`ms from a message to the end of its reader's stream: heard ${JSON.stringify(latency(heard))}, silent ${JSON.stringify(latency(silent))}, again ${JSON.stringify(latency(again))}; ${silenced} silent connections`); // prettier-ignore
  // Those that were open, and at least one more of each server.
  expect(silenced).toBeGreaterThanOrEqual(2 * servers.length);
  await expectAllEnded(world, [...heard, ...silent, ...again]);
  for (const server of servers) {
    server.signal('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  }
});
