import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '@platform/config/config.js';
import { addressPolicy } from './address-policy.js';
import { traceTo } from './trace-to.js';
import { Egress } from './egress.js';

@Global()
@Module({
  providers: [
    {
      provide: Egress,
      inject: [Config],
      useFactory: (config: Config) => new Egress(addressPolicy(config.egressAllow, { loopback: !config.production }), traceTo(config.egressTrace)),
    },
  ],
  exports: [Egress],
})
export class EgressModule implements OnApplicationShutdown {
  constructor(@Inject(Egress) private readonly egress: Egress) {}

  onApplicationShutdown(): Promise<void> {
    return this.egress.close();
  }
}
