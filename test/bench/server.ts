import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '@platform/local/embedded-postgres.js';

export type BenchServer = {
  /** Makes a database of its own and answers the superuser's URL of it. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
};

/** The PostgreSQL that all are measured on: its defaults, fsync on. It counts statements, which costs all the same. */
export async function startServer(): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), `openbot-bench-${process.pid}-`));
  const server = await startEmbeddedPostgres({
    folder,
    settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'top' },
  });
  return {
    createDatabase: async (name) => {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query(`create database bench_${name}`).finally(() => client.end());
      const url = new URL(server.url);
      url.pathname = `/bench_${name}`;
      return url.toString();
    },
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
