import { Client } from 'pg';
import { DataSource } from 'typeorm';
import type { Config } from '@platform/config/config.js';
import { StartFailure } from '@platform/local/start-failure.js';
import { databaseFault, loginOf, withLogin } from './database-url.js';
import { refuseForeignKeys, rememberKeys } from './key-check.js';
import { migrations } from './migrations.js';
import { rolePasswords } from './role-password.js';
import { ensureRoles, type Login } from './roles.js';

export type MigrationSettings = Pick<Config, 'databaseApiUrl' | 'databaseWorkerUrl' | 'encryptionKeys'> & { readonly databaseUrl: string };
export type DatabaseUrls = { readonly databaseApiUrl: string; readonly databaseWorkerUrl: string };
type Progress = (line: string) => void;

export const migrationTable = 'schema_migration';
/** Names the lock that all processes of one database take before they migrate it. */
const migrationLock = 7_305_482_001;

async function connect(url: string, variable = 'DATABASE_URL'): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, application_name: 'openbot migrate' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw databaseFault(error, variable, url);
  }
}

async function lock(client: Client, progress: Progress): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [migrationLock]);
  if (rows[0]?.taken) return;
  progress('Waiting for another process that migrates the database');
  await client.query('select pg_advisory_lock($1)', [migrationLock]);
}

/** The names that the database has recorded. */
async function applied(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ present: boolean }>(`select to_regclass('public.${migrationTable}') is not null as present`);
  if (!rows[0]?.present) return new Set();
  await client.query('set role openbot_owner');
  const { rows: names } = await client.query<{ name: string }>(`select name from ${migrationTable}`);
  await client.query('reset role');
  return new Set(names.map(({ name }) => name));
}

async function run(url: string): Promise<void> {
  const db = new DataSource({
    type: 'postgres',
    url,
    installExtensions: false,
    migrations: [...migrations],
    migrationsTableName: migrationTable,
    // A statement that must not stand in a transaction (an index made concurrently) has a migration of its own.
    migrationsTransactionMode: 'each',
    poolSize: 1,
    extra: { onConnect: (client: Client) => client.query('set role openbot_owner') },
  });
  await db.initialize();
  try {
    await db.runMigrations();
  } finally {
    await db.destroy();
  }
}

/** A login that is given is tried at once: a wrong one is easier to understand here than in the pool that uses it. */
async function tryLogin(url: string | null, variable: string): Promise<void> {
  if (url !== null) await (await connect(url, variable)).end();
}

/**
 * Brings roles and tables of a database to what this program needs, and returns the URLs that its two roles use. Any number of
 * processes may call it at once. A database that a newer program has migrated is refused, and so are keys that are not the database's.
 */
export async function migrate(settings: MigrationSettings, progress: Progress = () => undefined): Promise<DatabaseUrls> {
  const { databaseUrl, encryptionKeys } = settings;
  const login = (role: Login['role'], url: string | null): Login => ({
    role,
    given: url === null ? null : loginOf(url),
    passwords: url === null ? rolePasswords(encryptionKeys, role) : [],
  });
  const client = await connect(databaseUrl);
  try {
    const { rows } = await client.query<{ version: number; database: string }>(`select current_setting('server_version_num')::int as version, current_database() as database`);
    const { version, database } = rows[0] ?? { version: 0, database: '' };
    if (version < 150_000) throw new StartFailure(`OpenBot needs PostgreSQL 15 or later, and DATABASE_URL names ${Math.floor(version / 10_000)}: upgrade the database.`);
    await lock(client, progress);
    const newKeys = await refuseForeignKeys(client, encryptionKeys, databaseUrl);
    const passwords = await ensureRoles(client, database, [login('openbot_api', settings.databaseApiUrl), login('openbot_worker', settings.databaseWorkerUrl)]);

    const known = new Set(migrations.map(({ name }) => name));
    const present = await applied(client);
    const foreign = [...present].find((name) => !known.has(name));
    if (foreign)
      throw new StartFailure(`The database is newer than this program (it has the migration ${foreign}): start the version that made it, or restore a backup from before.`);
    const pending = [...known].filter((name) => !present.has(name)).length;
    if (pending > 0) {
      progress(`Preparing the database: ${pending} of ${known.size} migrations`);
      await run(databaseUrl);
    }
    await rememberKeys(client, newKeys);
    await tryLogin(settings.databaseApiUrl, 'DATABASE_API_URL');
    await tryLogin(settings.databaseWorkerUrl, 'DATABASE_WORKER_URL');
    const urlFor = (role: Login['role']): string => withLogin(databaseUrl, role, passwords.get(role) ?? '');
    return { databaseApiUrl: settings.databaseApiUrl ?? urlFor('openbot_api'), databaseWorkerUrl: settings.databaseWorkerUrl ?? urlFor('openbot_worker') };
  } finally {
    await client.end().catch(() => undefined);
  }
}
