import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { ErrorRecords } from './error-records.js';
import { engineObserver, metricsToken, observers, tracingToken } from './observers.js';
import type { Tracing } from './tracing.js';

@Global()
@Module({ providers: [ErrorRecords, ...observers], exports: [ErrorRecords, metricsToken, tracingToken, engineObserver] })
export class ObservabilityModule implements OnApplicationShutdown {
  constructor(@Inject(tracingToken) private readonly tracing: Tracing | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.tracing?.close();
  }
}
