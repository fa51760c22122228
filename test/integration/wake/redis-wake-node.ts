import { NestFactory } from '@nestjs/core';
import { WakeChannel, type Hint } from '@engine/wake-channel.js';
import { RedisWake } from '@platform/wake/redis-wake.js';
import { WakeModule } from '@platform/wake/wake.module.js';

export type RedisWakeNode = {
  readonly wake: WakeChannel;
  /** What its readers and its worker heard so far. */
  readonly heard: Hint[];
  readonly asked: Hint[];
  readonly ids: () => Set<string>;
  readonly askedIds: () => Set<string>;
  readonly resyncs: () => number;
  /** Whether its worker takes what it is asked for. */
  hasRoom: boolean;
  close(): Promise<void>;
};

const idsIn = (hints: readonly Hint[]): Set<string> => new Set(hints.flatMap((hint) => (hint === 'all' ? [] : hint)));

/** The channel as a process makes it, with its queue and its worker. */
export async function openRedisWake(redisUrl: string, { worker = true, hasRoom = true } = {}): Promise<RedisWakeNode> {
  const nest = await NestFactory.createApplicationContext(WakeModule.register({ wake: 'redis', redisUrl, roles: { api: true, worker } }), { logger: false, abortOnError: false });
  const wake = nest.get(WakeChannel);
  if (!(wake instanceof RedisWake)) throw new Error('another channel than Redis was made');
  const [heard, asked]: [Hint[], Hint[]] = [[], []];
  const node: RedisWakeNode = {
    wake,
    heard,
    asked,
    hasRoom,
    ids: () => idsIn(heard),
    askedIds: () => idsIn(asked),
    resyncs: () => heard.filter((hint) => hint === 'all').length,
    close: () => nest.close(),
  };
  wake.subscribe((hint) => heard.push(hint));
  if (worker)
    wake.offerTo((hint) => {
      asked.push(hint);
      return node.hasRoom;
    });
  return node;
}
