import type { DataSourceOptions } from 'typeorm';

/**
 * A pool of one of the two logins. Statements are pipelined: what is sent together leaves together. The server's own timeouts are settings of the
 * logins' roles; the client's is a little longer, so that the server answers first and only a dead network meets the client's.
 */
export function dataSourceOptions(url: string, role: 'api' | 'worker', connections: number): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url,
    applicationName: `openbot ${role}`,
    installExtensions: false,
    connectTimeoutMS: 10_000,
    poolSize: connections,
    // Idle connections that break are replaced by the pool; a working one reports to its own statement.
    poolErrorHandler: () => undefined,
    extra: { pipeline: true, keepAlive: true, keepAliveInitialDelayMillis: 5_000, query_timeout: 40_000, idleTimeoutMillis: 60_000 },
  };
}
