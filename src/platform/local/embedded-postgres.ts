import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, open, readFile, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { dataPlace, reachableCache } from './data-place.js';
import { postgresPrograms, type ServerUser } from './postgres-binaries.js';
import { isAlive, livePostmaster, readPostmaster, stopPostmaster, until } from './postmaster.js';
import { StartFailure } from './start-failure.js';

export type EmbeddedPostgres = {
  /** The superuser's URL of the database `openbot`. */
  readonly url: string;
  readonly pid: number;
  /** It was left behind by a process that was killed. */
  readonly adopted: boolean;
  stop(): Promise<void>;
};
export type EmbeddedOptions = {
  /** Holds the data, the log and the secret of the server. */
  readonly folder: string;
  readonly progress?: (line: string) => void;
  /** Called whenever a process of the server has begun to work and we only wait. */
  readonly busy?: () => void;
  /** Settings of the server beside ours; fsync stays on unless it is named here. */
  readonly settings?: Readonly<Record<string, string>>;
};

const urlOf = (port: number, password: string, database: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
/** Nothing of our own environment reaches the server. */
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
const exists = (path: string): Promise<boolean> => stat(path).then(() => true, () => false);

/** The port of the last run when it is free, so that tools which point at it go on working; else any free one. */
async function freePort(preferred: number): Promise<number> {
  for (const port of [preferred, 0]) {
    const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
    const listening = await once(server, 'listening').then(() => true, () => false);
    if (!listening) continue;
    const { port: free } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    return free;
  }
  throw new StartFailure('No port of 127.0.0.1 is free for the embedded PostgreSQL: set DATABASE_URL to a PostgreSQL of your own.');
}

/** As whom the server's programs run, where they write, and whom they keep waiting. */
type Host = { readonly user: ServerUser; readonly log: FileHandle; readonly busy: () => void };

/** Runs one program to its end, as the server's user and with its output in the log. */
async function run(program: string, args: readonly string[], { user, log, busy }: Host): Promise<void> {
  const child = spawn(program, args, { ...user, cwd: '/', env: environment, stdio: ['ignore', log.fd, log.fd] });
  busy();
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}

/** Makes the data folder beside its place and renames it there, so that a killed first start leaves no half of one. */
async function createCluster(programs: string, data: string, password: string, host: Host): Promise<void> {
  const { user } = host;
  const making = `${data}.new`;
  const secret = `${data}.secret`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { mode: 0o700 });
  await rm(secret, { force: true });
  await writeFile(secret, password, { mode: 0o600 });
  if (user) await Promise.all([making, secret].map((path) => chown(path, user.uid, user.gid)));
  try {
    const flags = ['--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=builtin', '--auth=scram-sha-256', `--pwfile=${secret}`, '--no-instructions'];
    await run(join(programs, 'initdb'), ['-D', making, ...flags], host);
  } finally {
    await rm(secret, { force: true });
  }
  await rename(making, data);
}

/** Starts the server in a process group of its own: Ctrl-C in a terminal reaches us alone, and we stop it last. */
async function launch(programs: string, data: string, port: number, settings: Readonly<Record<string, string>>, { user, log, busy }: Host): Promise<number | null> {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port), timezone: 'UTC', log_timezone: 'UTC', log_checkpoints: 'off', ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(join(programs, 'postgres'), ['-D', data, ...flags], { ...user, cwd: '/', env: environment, detached: true, stdio: ['ignore', log.fd, log.fd] });
  let ended = false;
  child.once('exit', () => (ended = true)).once('error', () => (ended = true));
  child.unref();
  busy();
  const isReady = async (): Promise<boolean> => {
    const postmaster = await readPostmaster(data);
    return postmaster?.pid === child.pid && postmaster?.status === 'ready';
  };
  // Recovery after a crash may replay much; a server that gave up is seen at once.
  await until(async () => ended || (await isReady()), 120_000);
  return !ended && child.pid !== undefined && (await isReady()) ? child.pid : null;
}

async function connects(url: string, data: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data: string }>(`select current_setting('data_directory') as data`);
    return rows[0]?.data === data;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A server that outlived its starter: taken over when it answers to our secret, stopped when it does not. */
async function adopt(data: string, password: string): Promise<{ readonly pid: number; readonly port: number } | null> {
  const orphan = await livePostmaster(data);
  if (!orphan) return null;
  await until(async () => !isAlive(orphan.pid) || (await readPostmaster(data))?.status === 'ready', 10_000);
  const now = await livePostmaster(data);
  if (!now) return null;
  if (await connects(urlOf(now.port, password, 'postgres'), data)) return now;
  await stopPostmaster(now.pid);
  return null;
}

async function createDatabase(port: number, password: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(port, password, 'postgres') });
  await client.connect();
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'openbot'`);
    if (rowCount === 0) await client.query('create database openbot');
  } finally {
    await client.end();
  }
}

type Secret = { readonly password: string; readonly port: number };
const readSecret = async (file: string): Promise<Secret | null> => JSON.parse(await readFile(file, 'utf8').catch(() => 'null')) as Secret | null;
async function keepSecret(file: string, secret: Secret): Promise<void> {
  await writeFile(file, JSON.stringify(secret), { mode: 0o600 });
  await chmod(file, 0o600);
}

/**
 * Starts the PostgreSQL of `folder`, or goes on with the one that a killed process left running. One caller per folder at a time.
 * Everything that was acknowledged survives a kill of any process here: fsync is on.
 */
export async function startEmbeddedPostgres({ folder, progress = () => undefined, busy = () => undefined, settings = {} }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { data, user } = await dataPlace(folder);
  const secretFile = join(folder, 'server.json');
  const kept = await readSecret(secretFile);
  const isNew = !(await exists(join(data, 'PG_VERSION')));
  if (!kept && !isNew) throw new StartFailure(`${secretFile} is gone, and with it the password of the data in ${data}: put it back, or remove ${data} to begin anew.`);
  const password = kept?.password ?? randomBytes(24).toString('base64url');

  const server = async (pid: number, port: number, adopted: boolean): Promise<EmbeddedPostgres> => {
    await keepSecret(secretFile, { password, port });
    await createDatabase(port, password);
    return { url: urlOf(port, password, 'openbot'), pid, adopted, stop: () => stopPostmaster(pid) };
  };

  const orphan = isNew ? null : await adopt(data, password);
  if (orphan) {
    progress('Going on with the PostgreSQL that the last run left behind');
    return server(orphan.pid, orphan.port, true);
  }

  const log = await open(join(folder, 'postgres.log'), 'w', 0o600);
  try {
    const programs = await postgresPrograms(user, () => reachableCache(folder, user));
    if (isNew) {
      progress('Creating the database (the first start only)');
      // Before the data exists: a kill between the two leaves a secret without data, and not data without a secret.
      await keepSecret(secretFile, { password, port: 0 });
      await createCluster(programs, data, password, { user, log, busy });
    }
    progress('Starting PostgreSQL');
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const port = await freePort(attempt === 1 ? (kept?.port ?? 0) : 0);
      const pid = await launch(programs, data, port, settings, { user, log, busy });
      if (pid) return await server(pid, port, false);
    }
  } catch (error) {
    if (error instanceof StartFailure) throw error;
    throw new StartFailure(`The embedded PostgreSQL did not start (${(error as Error).message}): see ${join(folder, 'postgres.log')}, or set DATABASE_URL to a PostgreSQL of your own.`);
  } finally {
    await log.close();
  }
  throw new StartFailure(`The embedded PostgreSQL did not start: see ${join(folder, 'postgres.log')}, or set DATABASE_URL to a PostgreSQL of your own.`);
}
