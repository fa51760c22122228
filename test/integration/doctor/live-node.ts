import { Client } from 'pg';
import type { TestDatabase } from '@test/support/database.js';

/** A node as other processes see it: its row, and a connection that holds the lock on its name. Leaves with its connection alone, as one that is killed. */
export async function liveNode(database: TestDatabase, name: string, knows: readonly string[] = []): Promise<{ readonly process: string; kill(): Promise<void> }> {
  const client = new Client({ connectionString: database.workerUrl });
  await client.connect();
  await client.query(`select pg_advisory_lock(hashtextextended('openbot:node:' || $1, 0))`, [name]);
  const { rows } = await client.query<{ process: string }>(
    `insert into node (name, epoch, knows, process) values ($1, 1, $2, gen_random_uuid())
     on conflict (name) do update set epoch = node.epoch + 1, process = excluded.process returning process`,
    [name, knows],
  );
  return { process: rows[0]!.process, kill: () => client.end() };
}
