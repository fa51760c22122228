import type { Config } from '@platform/config/config.js';
import { databaseFault, withLogin } from '@platform/database/database-url.js';
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

/** Does the work with the first login that enters; a database that refuses them all, or is not there, is one line for its operator. */
export async function asWorker<T>(config: Config, work: (url: string) => Promise<T>): Promise<T> {
  const { place, urls } = await candidates(config);
  let refusal: unknown;
  for (const url of urls) {
    try {
      return await work(url);
    } catch (error) {
      if (error instanceof StartFailure) throw error;
      refusal = error;
      if ((error as { code?: string }).code !== '28P01') break;
    }
  }
  throw databaseFault(refusal, config.databaseWorkerUrl ? 'DATABASE_WORKER_URL' : 'DATABASE_URL', place);
}
