import { Global, Module } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { WakeChannel } from '@engine/wake-channel.js';
import { Config } from '@platform/config/config.js';
import { processDatabase } from '@platform/secrets/process-database.js';
import { InProcessWake } from './in-process-wake.js';
import { NotifyWake } from './notify-wake.js';

const urlOf = (database: DataSource): string => {
  const { url } = database.options as { readonly url?: string };
  if (!url) throw new Error('the wake channel needs a database that is named by a URL');
  return url;
};

/** Needs a global `Config` and the process's database. */
@Global()
@Module({
  providers: [
    {
      provide: WakeChannel,
      inject: [Config, processDatabase],
      useFactory: ({ wake }: Config, database: DataSource): WakeChannel => (wake === 'notify' ? new NotifyWake({ url: urlOf(database) }) : new InProcessWake()),
    },
  ],
  exports: [WakeChannel],
})
export class WakeModule {}
