import { Client } from 'pg';
import type { Config } from '@platform/config/config.js';
import { databaseFault, placeOf, withLogin } from '@platform/database/database-url.js';
import { migrationTable } from '@platform/database/migrate.js';
import { rolePasswords } from '@platform/database/role-password.js';
import { runningEmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { databaseFolder, developmentKeys } from '@platform/local/local-state.js';
import { StartFailure } from '@platform/local/start-failure.js';

/** The worker's login as it may be: the one that is given, or one for each key that its password may be made of. Nothing is prepared or migrated. */
async function candidates(config: Config): Promise<{ readonly place: string; readonly urls: readonly string[] }> {
  if (config.databaseWorkerUrl) return { place: config.databaseWorkerUrl, urls: [config.databaseWorkerUrl] };
  const place = config.databaseUrl ?? (await runningEmbeddedPostgres(databaseFolder()));
  if (place === null) throw new StartFailure('No PostgreSQL runs in this folder: start the server first, or set DATABASE_URL.');
  const keys = config.encryptionKeys.length > 0 ? config.encryptionKeys : await developmentKeys();
  return { place, urls: rolePasswords(keys, 'openbot_worker').map(({ password }) => withLogin(place, 'openbot_worker', password)) };
}

/** Before a migration there are neither the logins nor anything to look at; any login that enters can tell. */
async function refuseUnmigrated(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, application_name: 'openbot look' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ migrated: boolean }>(`select to_regclass('public.${migrationTable}') is not null as migrated`);
    if (!rows[0]?.migrated) throw new StartFailure(`The database at ${placeOf(url)} is not migrated yet: run "node dist/src/cli.js migrate", or start the server, which does it.`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Does the work with the first login that enters; a database that refuses them all, or is not there, is one line for its operator. */
export async function asWorker<T>(config: Config, work: (url: string) => Promise<T>): Promise<T> {
  const { place, urls } = await candidates(config);
  let refusal: unknown;
  for (const url of urls) {
    try {
      await refuseUnmigrated(url);
      return await work(url);
    } catch (error) {
      if (error instanceof StartFailure) throw error;
      refusal = error;
      if ((error as { code?: string }).code !== '28P01') break;
    }
  }
  // The login that migrates may enter where the worker's is not known yet.
  const owner = config.databaseUrl ?? (config.databaseWorkerUrl ? null : place);
  if (owner !== null)
    await refuseUnmigrated(owner).catch((error: unknown) => {
      if (error instanceof StartFailure) throw error;
    });
  throw databaseFault(refusal, config.databaseWorkerUrl ? 'DATABASE_WORKER_URL' : 'DATABASE_URL', place);
}
