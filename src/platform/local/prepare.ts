import { join } from 'node:path';
import { Client } from 'pg';
import { Config } from '@platform/config/config.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { alone, developmentKeys, readLocalState, stateFolder } from './local-state.js';
import { until } from './postmaster.js';
import type { Program } from './program.js';
import { StartFailure } from './start-failure.js';

/** Held on the embedded database for as long as its process lives, and freed by the server when that process is killed. */
const folderLock = 7_305_482_002;

async function holdFolder(url: string, folder: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url, keepAlive: true, application_name: 'openbot folder' });
  client.on('error', () => undefined);
  await client.connect();
  const isHeld = async (): Promise<boolean> => (await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [folderLock])).rows[0]?.held ?? false;
  // The server may need a moment to see that a killed holder is gone.
  if (await until(isHeld, 1_000)) return () => client.end();
  await client.end();
  const running = await readLocalState();
  throw new StartFailure(`OpenBot already runs in ${folder}${running ? ` at ${running.url}` : ''}: use that one, stop it first, or set DATABASE_URL to run a second.`);
}

/** The embedded PostgreSQL, for this process alone. It is stopped last. */
function startDatabase(program: Program, busy: () => void): Promise<string> {
  const folder = stateFolder();
  return alone(folder, async () => {
    const server = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), progress: (line) => program.progress(line), busy });
    // Another process's server that we merely found is not ours to stop.
    const release = await holdFolder(server.url, folder);
    if (server.adopted) program.progress('Going on with the PostgreSQL that the last run left behind');
    program.onStop(() => server.stop());
    program.onStop(release);
    return server.url;
  });
}

/**
 * Brings a process to where its modules can be made: keys, a database, roles and tables. `busy` is called as soon as the rest of the
 * work is another process's, which is the time to load code.
 */
export async function prepare(config: Config, program: Program, busy: () => void = () => undefined): Promise<PreparedConfig> {
  program.graceMs = config.graceMs;
  const encryptionKeys = config.encryptionKeys.length > 0 ? config.encryptionKeys : await developmentKeys();
  const databaseUrl = config.databaseUrl ?? (await startDatabase(program, busy));
  const { migrate } = await import('@platform/database/migrate.js');
  const urls = await migrate({ ...config, encryptionKeys, databaseUrl }, (line) => program.progress(line));
  return new Config({ ...config, encryptionKeys, databaseUrl, ...urls }) as PreparedConfig;
}
