import { Logger } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { eventually } from '@test/support/eventually.js';
import { startRedis, type TestRedis } from '@test/support/redis.js';
import { describeWith } from '@test/support/services.js';
import { openRedisWake, type RedisWakeNode } from './redis-wake-node.js';
import { openSwallowingProxy } from './swallowing-proxy.js';

// Lost connections are what these tests make.
Logger.overrideLogger(false);

const newIds = (count: number): string[] => Array.from({ length: count }, () => uuidv7());

describeWith('redis-server')('waking by Redis', () => {
  let redis: TestRedis;
  const nodes: RedisWakeNode[] = [];

  beforeAll(async () => (redis = await startRedis()));
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.close()));
    await redis.client.flushall();
  });
  afterAll(() => redis.close());

  /** A node that listens already. */
  async function startNode(options: { readonly worker?: boolean; readonly hasRoom?: boolean } = {}, url = redis.url): Promise<RedisWakeNode> {
    const node = await openRedisWake(url, options);
    nodes.push(node);
    await eventually(() => node.resyncs() === 1);
    return node;
  }

  const jobs = (): Promise<number> => redis.client.llen('openbot:openbot-wake:wait');
  const jobKeys = async (): Promise<string[]> => (await redis.client.keys('openbot:openbot-wake:*')).filter((key) => /:\d+(:|$)/.test(key));
  const inEachOther = async (one: RedisWakeNode, other: RedisWakeNode): Promise<void> => {
    const [there, back] = newIds(2) as [string, string];
    await eventually(() => {
      one.wake.publish([there]);
      other.wake.publish([back]);
      return other.ids().has(there) && one.ids().has(back);
    });
  };

  /** What a node has published before is on its way as soon as another hears what it publishes now. */
  function isPublished(node: RedisWakeNode): () => boolean {
    const listener = redis.client.duplicate();
    const id = uuidv7();
    let isHeard = false;
    listener.on('error', () => undefined);
    listener.on('message', (_, text: string) => (isHeard ||= text.includes(id)));
    void listener.subscribe('openbot:wake:changed').then(() => node.wake.publish([id]));
    return () => {
      if (isHeard) listener.disconnect();
      return isHeard;
    };
  }

  test('readers of every node hear, the own ones once; one worker alone is asked', async () => {
    const api = await startNode({ worker: false });
    const [one, other, busy] = [await startNode(), await startNode(), await startNode()];
    for (const id of newIds(20)) {
      api.wake.publish([id]);
      await eventually(() => [one, other, busy].every((node) => node.ids().has(id)));
      await eventually(() => [one, other, busy].filter((node) => node.askedIds().has(id)).length === 1);
      expect(api.heard.filter((hint) => hint.includes(id))).toEqual([[id]]);
    }
    // Done, they are gone.
    await eventually(async () => [await jobs(), await jobKeys()], ([waiting, keys]) => waiting === 0 && (keys as string[]).length === 0); // prettier-ignore
  });

  test('a node with room takes its own work without a job', async () => {
    const one = await startNode();
    const other = await startNode();
    const ids = newIds(50);
    for (const id of ids) one.wake.publish([id]);
    await eventually(() => ids.every((id) => other.ids().has(id)));
    expect(await redis.client.get('openbot:openbot-wake:id')).toBeNull();
    expect(ids.filter((id) => other.askedIds().has(id))).toEqual([]);
  });

  test('a node without room hands its work to one that has some, also what a job brings it', async () => {
    const full = await startNode({ hasRoom: false });
    const free = await startNode();
    const ids = newIds(30);
    for (const id of ids) {
      full.wake.publish([id]);
      await eventually(() => free.askedIds().has(id));
    }
  });

  test('too many to name are told as "all"', async () => {
    const [api, worker] = [await startNode({ worker: false }), await startNode()];
    const asked = worker.asked.filter((hint) => hint === 'all').length;
    api.wake.publish(newIds(6_000));
    await eventually(() => worker.resyncs() > 1 && worker.asked.filter((hint) => hint === 'all').length > asked);
  });

  test('jobs that nobody takes are bounded, and a worker that comes is asked', async () => {
    const api = await startNode({ worker: false });
    for (let round = 0; round < 5; round += 1) {
      api.wake.publish(newIds(3_000));
      await eventually(isPublished(api));
    }
    expect(await jobs()).toBeGreaterThanOrEqual(200);
    expect(await jobs()).toBeLessThan(400);
    const worker = await startNode();
    await eventually(async () => worker.askedIds().size >= 3_000 && (await jobs()) === 0);
  });

  test('flushed again and again: what is published meanwhile arrives, and so does everything after', async () => {
    const [api, worker] = [await startNode({ worker: false }), await startNode()];
    const ids = newIds(100);
    for (const id of ids) {
      await redis.client.flushall();
      api.wake.publish([id]);
      await eventually(() => worker.ids().has(id));
    }
    const last = uuidv7();
    await eventually(() => {
      api.wake.publish([last]);
      return worker.askedIds().has(last);
    });
  });

  test('killed and started again: nothing waits for it, and it is used again after every listener was told to look at everything', async () => {
    const [api, worker] = [await startNode({ worker: false }), await startNode()];
    redis.signal('SIGKILL');
    const since = performance.now();
    for (const id of newIds(20_000)) api.wake.publish([id]);
    expect(performance.now() - since).toBeLessThan(10_000);
    await redis.restart();
    await eventually(() => worker.resyncs() >= 2 && api.resyncs() >= 2);
    await inEachOther(api, worker);
    const id = uuidv7();
    await eventually(() => {
      api.wake.publish([id]);
      return worker.askedIds().has(id);
    });
  });

  test('a connection that takes everything and says nothing is replaced', async () => {
    const proxy = await openSwallowingProxy(redis.url);
    try {
      const silent = await startNode({}, proxy.url);
      const other = await startNode({ worker: false });
      proxy.swallow();
      await eventually(() => silent.resyncs() === 2);
      await inEachOther(silent, other);
      const id = uuidv7();
      await eventually(() => {
        other.wake.publish([id]);
        return silent.askedIds().has(id);
      });
    } finally {
      await proxy.close();
    }
  });

  test('a server that accepts and never answers keeps neither the start nor the end waiting', async () => {
    redis.signal('SIGSTOP');
    try {
      const since = performance.now();
      const node = await openRedisWake(redis.url);
      node.wake.publish([uuidv7()]);
      await node.close();
      const absent = await openRedisWake('redis://127.0.0.1:1');
      absent.wake.publish([uuidv7()]);
      await absent.close();
      expect(performance.now() - since).toBeLessThan(15_000);
    } finally {
      redis.signal('SIGCONT');
    }
  });

  test('a wrong password: the log says what is wrong, and no secret', async () => {
    const guarded = await startRedis({ password: 'correct-horse' });
    const lines: string[] = [];
    const logger = jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(JSON.stringify(line)));
    const printed = jest.spyOn(process.stderr, 'write').mockImplementation((line: unknown) => void lines.push(String(line)) as never);
    try {
      const node = await openRedisWake(guarded.url.replace('correct-horse', 'battery-staple'));
      nodes.push(node);
      node.wake.publish([uuidv7()]);
      await eventually(() => lines.length > 0);
      expect(lines.join('')).not.toMatch(/battery-staple|correct-horse/);
    } finally {
      printed.mockRestore();
      logger.mockRestore();
      await guarded.close();
    }
  });
});
