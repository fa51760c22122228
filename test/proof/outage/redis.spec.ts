import { setTimeout as pause } from 'node:timers/promises';
import { openServerWorld, type ServerWorld } from '@test/recovery/server/server-world.js';
import { startRedis, type TestRedis } from '@test/support/redis.js';
import { describeWith } from '@test/support/services.js';
import type { ServerRun } from '@test/support/server-process.js';
import { callAToolAndAnswer, expectAllEnded, latency, turnsDuring } from './turn-load.js';

const conversations = 6;

/** One that only serves the API, so that jobs are needed, and two that do both. Every reader reads elsewhere than its message was sent. */
async function startServers(world: ServerWorld, redisUrl: string, name: string): Promise<readonly ServerRun[]> {
  const roles = [`${name}-front`, `${name}-one`, `${name}-two`].map((node) => ({ node, OPENBOT_ROLES: node.endsWith('front') ? 'api' : 'api,worker' }));
  return Promise.all(roles.map(async ({ node, OPENBOT_ROLES }) => (await world.place({ node, env: { REDIS_URL: redisUrl, OPENBOT_ROLES, OPENBOT_LEASE_MS: '10000' } })).start()));
}

describeWith('redis-server')('Redis fails while turns with tool calls run', () => {
  let redis: TestRedis;
  let world: ServerWorld;
  let servers: readonly ServerRun[];

  beforeAll(async () => {
    redis = await startRedis();
    world = await openServerWorld();
    servers = await startServers(world, redis.url, 'near');
  });
  beforeEach(async () => {
    world.provider.reset();
    world.provider.whenAsked(callAToolAndAnswer);
    await world.rows('truncate execution, execution_event, execution_call, execution_signal, chat_item, chat_input, chat_turn, chat cascade');
  });
  afterAll(async () => {
    await world.close();
    await redis.close();
  });

  async function prove(name: string, at: readonly ServerRun[], meanwhile: () => Promise<unknown>): Promise<void> {
    const seen = await turnsDuring(at, conversations, name, meanwhile);
    console.info(`Redis ${name}: ${JSON.stringify(latency(seen))} ms from a message to the end of its reader's stream`);
    await expectAllEnded(world, seen);
  }

  test('undisturbed, for comparison', () => prove('undisturbed', servers, () => pause(10_000)));

  test('flushed every two seconds for a minute: all work ends', () =>
    prove('flushed every 2 s', servers, async () => {
      for (let flush = 0; flush < 30; flush += 1) {
        await pause(2_000);
        await redis.client.flushall();
      }
    }));

  test('stopped in the middle, going on, killed, and started again: all work ends', () =>
    prove('stopped and killed', servers, async () => {
      await pause(3_000);
      redis.signal('SIGSTOP');
      await pause(12_000);
      redis.signal('SIGCONT');
      await pause(3_000);
      redis.signal('SIGKILL');
      await pause(8_000);
      await redis.restart();
      await pause(4_000);
    }));

  test('used again after all of that', async () => {
    const before = Number(/total_commands_processed:(\d+)/.exec(await redis.client.info('stats'))?.[1]);
    await prove('back again', servers, () => pause(5_000));
    expect(Number(/total_commands_processed:(\d+)/.exec(await redis.client.info('stats'))?.[1])).toBeGreaterThan(before + 50);
  });

  test('absent from the start: servers start, and all work ends', async () => {
    const alone = await startServers(world, 'redis://:a-secret@127.0.0.1:1', 'far');
    await prove('absent', alone, () => pause(15_000));
    for (const server of [...servers, ...alone]) {
      expect(server.output()).not.toContain('a-secret');
      server.signal('SIGTERM');
      expect(await server.exited).toEqual({ code: 0, signal: null });
    }
  });
});
