import { BullModule } from '@nestjs/bullmq';
import { Global, Module, type DynamicModule, type Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Config } from '@platform/config/config.js';
import { processDatabase } from '@platform/secrets/process-database.js';
import { InProcessWake } from './in-process-wake.js';
import { NotifyWake } from './notify-wake.js';
import { RedisClients } from './redis-clients.js';
import { RedisWake, wakeQueue } from './redis-wake.js';
import { WakeProcessor } from './wake-processor.js';

type WakeConfig = Pick<Config, 'wake' | 'redisUrl' | 'roles'>;

const urlOf = (database: DataSource): string => {
  const { url } = database.options as { readonly url?: string };
  if (!url) throw new Error('the wake channel needs a database that is named by a URL');
  return url;
};

/** Global, so that the queue finds them: it and its worker share these connections, and leave closing them to who has made them. */
@Global()
@Module({})
class RedisModule {
  static register(url: string): DynamicModule {
    return { module: RedisModule, providers: [{ provide: RedisClients, useFactory: () => new RedisClients(url) }], exports: [RedisClients] };
  }
}

const queue = (): DynamicModule =>
  BullModule.registerQueueAsync({
    name: wakeQueue,
    inject: [RedisClients],
    useFactory: ({ commands }: RedisClients) => ({
      connection: commands,
      prefix: 'openbot',
      // It would be asked for once and never again: a server that goes away at that moment would stay lost.
      skipVersionCheck: true,
      skipWaitingForReady: true,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    }),
  });

/** Hints within this process, and to the others as it is configured. Needs the process's database for LISTEN and NOTIFY. */
@Global()
@Module({})
export class WakeModule {
  static register({ wake, redisUrl, roles }: WakeConfig): DynamicModule {
    if (wake === 'redis' && redisUrl !== null) {
      const providers: Provider[] = [RedisWake, { provide: WakeChannel, useExisting: RedisWake }, ...(roles.worker ? [WakeProcessor] : [])];
      return { module: WakeModule, imports: [RedisModule.register(redisUrl), queue()], providers, exports: [WakeChannel] };
    }
    const channel: Provider =
      wake === 'none'
        ? { provide: WakeChannel, useFactory: () => new InProcessWake() }
        : { provide: WakeChannel, inject: [processDatabase], useFactory: (database: DataSource) => new NotifyWake({ url: urlOf(database) }) };
    return { module: WakeModule, providers: [channel], exports: [WakeChannel] };
  }
}
