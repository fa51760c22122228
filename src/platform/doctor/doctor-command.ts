import type { Config } from '@platform/config/config.js';
import { databaseFault, withLogin } from '@platform/database/database-url.js';
import { rolePasswords } from '@platform/database/role-password.js';
import { runningEmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { developmentKeys, stateFolder } from '@platform/local/local-state.js';
import { StartFailure } from '@platform/local/start-failure.js';
import { exitCodeOf, type Report } from './finding.js';
import { printReport } from './print-report.js';
import { runDoctor } from './run-doctor.js';

/** The worker's login as it may be: the one that is given, or one for each key that its password may be made of. Nothing is prepared or migrated. */
async function candidates(config: Config): Promise<{ readonly place: string; readonly urls: readonly string[] }> {
  if (config.databaseWorkerUrl) return { place: config.databaseWorkerUrl, urls: [config.databaseWorkerUrl] };
  const place = config.databaseUrl ?? (await runningEmbeddedPostgres(stateFolder()));
  if (place === null) throw new StartFailure('No PostgreSQL runs in this folder: start the server first, or set DATABASE_URL.');
  const keys = config.encryptionKeys.length > 0 ? config.encryptionKeys : await developmentKeys();
  return { place, urls: rolePasswords(keys, 'openbot_worker').map(({ password }) => withLogin(place, 'openbot_worker', password)) };
}

async function examine(config: Config): Promise<Report> {
  const { place, urls } = await candidates(config);
  let refusal: unknown;
  for (const url of urls) {
    try {
      return await runDoctor({ url, leaseMs: config.leaseMs });
    } catch (error) {
      refusal = error;
      if ((error as { code?: string }).code !== '28P01') break;
    }
  }
  throw databaseFault(refusal, config.databaseWorkerUrl ? 'DATABASE_WORKER_URL' : 'DATABASE_URL', place);
}

/** Looks at the database as it is, and prints what to do. Answers the exit code: 0 all well, 1 something to do, 2 it could not look. */
export async function doctor(config: Config, json: boolean, print: (text: string) => void): Promise<number> {
  const report = await examine(config);
  print(json ? JSON.stringify(report, null, 2) : printReport(report));
  return exitCodeOf(report);
}
