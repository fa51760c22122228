import type { FactoryProvider } from '@nestjs/common';
import { observedBy, type EngineObserver } from '@engine/observer.js';
import { readTraceBy } from '@engine/trace.js';
import { Config } from '@platform/config/config.js';
import type { Metrics } from './metrics.js';
import { programVersion } from './program-version.js';
import type { Tracing } from './tracing.js';

export const metricsToken = 'openbot:metrics';
export const tracingToken = 'openbot:tracing';
export const engineObserver = 'openbot:engine-observer';

/** Both are loaded only where they are asked for: a server without them pays neither memory nor time. */
export const observers: FactoryProvider[] = [
  {
    provide: metricsToken,
    inject: [Config],
    useFactory: async ({ privatePort }: Config): Promise<Metrics | null> => (privatePort === null ? null : (await import('./metrics.js')).startMetrics()),
  },
  {
    provide: tracingToken,
    inject: [Config],
    useFactory: async ({ traces, nodeName }: Config): Promise<Tracing | null> => {
      if (traces === null) return null;
      const tracing = (await import('./otel-tracing.js')).startTracing({ traces, nodeName, version: programVersion() });
      readTraceBy(() => tracing.current());
      return tracing;
    },
  },
  {
    provide: engineObserver,
    inject: [metricsToken, tracingToken],
    // A call's time is measured inside its span.
    useFactory: (metrics: Metrics | null, tracing: Tracing | null): EngineObserver => observedBy([tracing, metrics].flatMap((one) => (one ? [one.engine] : []))),
  },
];
