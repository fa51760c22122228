import { randomBytes } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { dataPlace, reachableCache } from './data-place.js';
import { postgresPrograms, type ServerUser } from './postgres-binaries.js';
import { checkVersion, createCluster, freePort, launch } from './postgres-server.js';
import { livePostmaster, stopPostmaster, until, type Postmaster } from './postmaster.js';
import { writePrivateFile } from './private-file.js';
import { StartFailure } from './start-failure.js';

export type EmbeddedPostgres = {
  /** The superuser's URL of the database `openbot`. */
  readonly url: string;
  readonly pid: number;
  /** It ran already: its starter was killed, or still lives. */
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
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Whether the server on this port is the one of this data folder and of our secret. */
async function answers(port: number, password: string, data: string): Promise<boolean> {
  const client = new Client({ connectionString: urlOf(port, password, 'postgres'), connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data: string }>(`select current_setting('data_directory') as data`);
    return rows[0]?.data === data;
  } catch (error) {
    // It serves somebody, and has no place left even for a superuser.
    if ((error as { code?: string }).code === '53300') throw new StartFailure(`The PostgreSQL of ${data} has no free connection: stop the programs that use it and start again.`);
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A server that outlived its starter: taken over when it answers to our secret, stopped when it does not answer at all. */
async function adopt(data: string, password: string, { progress }: EmbeddedOptions): Promise<Postmaster | null> {
  if (!(await livePostmaster(data))) return null;
  let adopted: Postmaster | null = null;
  await until(async () => {
    const orphan = await livePostmaster(data);
    if (orphan?.status === 'ready' && (await answers(orphan.port, password, data))) adopted = orphan;
    return adopted !== null || orphan === null;
  }, 30_000);
  const orphan = await livePostmaster(data);
  if (adopted || !orphan) return adopted;
  progress?.('Stopping a PostgreSQL that the last run left behind and that does not answer');
  await stopPostmaster(orphan.pid);
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

type Place = { readonly data: string; readonly user: ServerUser; readonly isNew: boolean };
type Secret = { readonly password: string; readonly port: number };

const damaged = (file: string): StartFailure => new StartFailure(`${file} is damaged: put it back, or remove ${dirname(file)} to begin anew without its data.`);

async function readSecret(file: string): Promise<Secret | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new StartFailure(`${file} cannot be read (${error.code}): start as the user who owns it.`);
  });
  return text === null ? null : parseSecret(file, text);
}

function parseSecret(file: string, text: string): Secret {
  try {
    const { password, port } = JSON.parse(text) as Partial<Secret>;
    if (typeof password === 'string' && typeof port === 'number') return { password, port };
  } catch {
    // As any other text that is not what was written there.
  }
  throw damaged(file);
}
const keepSecret = (file: string, secret: Secret): Promise<void> => writePrivateFile(file, JSON.stringify(secret));

/**
 * Before each try: another may take the port first, and the last processes of a server that was killed may hold its memory for a moment after its
 * postmaster has gone.
 */
const pausesMs = [0, 200, 1_000, 3_000] as const;

/** Makes the data where there are none, and starts a server on them. `null`: it said why in its log. */
async function start(place: Place, secret: Secret, { folder, progress, busy, settings = {} }: EmbeddedOptions): Promise<{ readonly pid: number; readonly port: number } | null> {
  const log = await open(join(folder, 'postgres.log'), 'w', 0o600);
  try {
    const host = { user: place.user, log, busy: busy ?? (() => undefined) };
    const programs = await postgresPrograms(place.user, () => reachableCache(folder, place.user));
    if (place.isNew) {
      progress?.('Creating the database (the first start only)');
      await createCluster(programs.folder, place.data, secret.password, host);
    }
    await checkVersion(place.data, programs.major);
    progress?.('Starting PostgreSQL');
    for (const pauseMs of pausesMs) {
      await delay(pauseMs);
      const port = await freePort(pauseMs === 0 ? secret.port : 0);
      const pid = await launch(programs.folder, place.data, port, settings, host);
      if (pid) return { pid, port };
    }
    return null;
  } finally {
    await log.close();
  }
}

/** The URL of the PostgreSQL that runs in `folder`, for one who only looks: nothing is started, stopped or made. `null`: none answers there. */
export async function runningEmbeddedPostgres(folder: string): Promise<string | null> {
  const secret = await readSecret(join(folder, 'server.json'));
  if (!secret) return null;
  const { data } = await dataPlace(folder);
  const found = await livePostmaster(data);
  return found && (await answers(found.port, secret.password, data)) ? urlOf(found.port, secret.password, 'openbot') : null;
}

const failed = (folder: string, why: string): StartFailure =>
  new StartFailure(`The embedded PostgreSQL did not start${why}: see ${join(folder, 'postgres.log')}, or set DATABASE_URL to a PostgreSQL of your own.`);

/**
 * Starts the PostgreSQL of `folder`, or goes on with the one that a killed process left running. One caller per folder at a time.
 * Everything that was acknowledged survives a kill of any process here: fsync is on.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { folder } = options;
  const { data, user } = await dataPlace(folder);
  const secretFile = join(folder, 'server.json');
  const kept = await readSecret(secretFile);
  const isNew = !(await exists(join(data, 'PG_VERSION')));
  if (!kept && !isNew) throw new StartFailure(`${secretFile} is gone, and with it the password of the data in ${data}: put it back, or remove ${data} to begin anew.`);
  const secret = kept ?? { password: randomBytes(24).toString('base64url'), port: 0 };
  // Before the data exist: a kill between the two leaves a secret without data, and not data without a secret.
  if (!kept) await keepSecret(secretFile, secret);

  const found = isNew ? null : await adopt(data, secret.password, options);
  const server =
    found ??
    (await start({ data, user, isNew }, secret, options).catch((error: Error) => {
      throw error instanceof StartFailure ? error : failed(folder, ` (${error.message})`);
    }));
  if (!server) throw failed(folder, '');
  const { pid, port } = server;
  if (port !== secret.port) await keepSecret(secretFile, { ...secret, port });
  await createDatabase(port, secret.password).catch(async (error: Error & { code?: string }) => {
    if (!found) await stopPostmaster(pid);
    throw error.code === '28P01' ? damaged(secretFile) : error;
  });
  return { url: urlOf(port, secret.password, 'openbot'), pid, adopted: found !== null, stop: () => stopPostmaster(pid) };
}
