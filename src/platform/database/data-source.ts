import type { ClientBase } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { prepareRepeated } from './prepared-statements.js';

/**
 * An answer and the server's farewell may come in one packet: the pool hands the connection on, and the farewell is there before the next borrower
 * listens. An error that nobody hears ends the process; the borrower meets it with its first statement.
 */
const hearFarewell = (client: ClientBase): void => void client.on('error', () => undefined);

const onConnect = (client: ClientBase): void => {
  hearFarewell(client);
  prepareRepeated(client);
};

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
    extra: { pipeline: true, keepAlive: true, keepAliveInitialDelayMillis: 5_000, query_timeout: 40_000, idleTimeoutMillis: 60_000, onConnect },
  };
}
