import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '@platform/local/postgres-server.js';
import { eventually } from './eventually.js';

/** A Redis of the test's own, which keeps nothing on the disk. */
export type TestRedis = {
  readonly url: string;
  /** For looking into it and for emptying it; reconnects. */
  readonly client: Redis;
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void;
  /** At the same port, after it was killed. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export async function startRedis({ password }: { readonly password?: string } = {}): Promise<TestRedis> {
  const [port, folder] = await Promise.all([freePort(0), mkdtemp(join(tmpdir(), 'openbot-redis-'))]);
  const secret = password === undefined ? [] : ['--requirepass', password];
  const url = `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`;
  const launch = () => spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...secret], { cwd: folder, stdio: 'ignore' });
  let server = launch();
  server.on('error', () => undefined);
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  const isUp = (): Promise<unknown> => eventually(() => client.status, (status) => status === 'ready'); // prettier-ignore
  await isUp();
  return {
    url,
    client,
    signal: (signal) => void server.kill(signal),
    restart: async () => {
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      server = launch();
      await isUp();
    },
    close: async () => {
      client.disconnect();
      if (server.exitCode === null && server.signalCode === null) {
        const exited = once(server, 'exit');
        server.kill('SIGKILL');
        await exited;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
