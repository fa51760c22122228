import { spawn, type ChildProcess } from 'node:child_process';
import { chown, cp, mkdir, mkdtemp, open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { dataPlace } from '@platform/local/data-place.js';
import { postgresPrograms, type ServerUser } from '@platform/local/postgres-binaries.js';
import { createCluster, freePort } from '@platform/local/postgres-server.js';
import { readPostmaster } from '@platform/local/postmaster.js';
import { eventually } from './eventually.js';

const password = 'of-a-test';
/** Durability against a crash of the machine is off: these tests crash servers. What a server has written survives it in the system's memory. */
const ours = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '150',
  shared_buffers: '64MB',
  wal_keep_size: '512MB',
  max_wal_senders: '5',
  hot_standby: 'on',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  wal_retrieve_retry_interval: '100ms',
};
export type Settings = Readonly<Record<string, string>>;
/** `fast` ends sessions in order, `immediate` is a crash, `hard` a crash without a word. */
export type Stop = 'fast' | 'immediate' | 'hard';
const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', hard: 'SIGKILL' } as const;

/** A PostgreSQL of a test's own, which it may stop, crash, start again and promote. */
export type PostgresInstance = {
  /** The superuser's URL. The port stays the same over every start. */
  readonly url: string;
  readonly running: boolean;
  start(settings?: Settings, env?: Settings): Promise<void>;
  stop(how: Stop): Promise<void>;
  /** A statement of the superuser; answers its rows. */
  ask<R extends object>(sql: string, values?: readonly unknown[]): Promise<R[]>;
  promote(): Promise<void>;
  /** The server's log, for a test that failed. */
  log(): Promise<string>;
};
export type PostgresPlace = {
  /** A new cluster with the database `openbot`. */
  create(name: string): Promise<PostgresInstance>;
  /** A copy of a stopped instance that follows what runs at `primaryUrl`. */
  copyAsStandby(of: PostgresInstance, name: string, primaryUrl: string): Promise<PostgresInstance>;
  close(): Promise<void>;
};

export async function openPostgresPlace(): Promise<PostgresPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'openbot-postgres-'));
  const { data: probe, user } = await dataPlace(folder);
  const root = join(probe, '..');
  const { folder: programs } = await postgresPrograms(user, () => Promise.resolve(root));
  const instances = new Map<PostgresInstance, { readonly data: string }>();

  async function instanceAt(name: string, data: string): Promise<PostgresInstance> {
    const logFile = join(folder, `${name}.log`);
    const port = await freePort(0);
    const made = instance({ programs, data, port, user, logFile });
    instances.set(made, { data });
    return made;
  }

  return {
    create: async (name) => {
      const data = join(root, name);
      const log = await open(join(folder, `${name}.initdb`), 'w');
      await createCluster(programs, data, password, { user, log, busy: () => undefined });
      await log.close();
      return instanceAt(name, data);
    },
    copyAsStandby: async (of, name, primaryUrl) => {
      const { data } = instances.get(of)!;
      const copy = join(root, name);
      await mkdir(copy, { mode: 0o700 });
      await cp(data, copy, { recursive: true });
      const { hostname, port } = new URL(primaryUrl);
      const conninfo = `host=${hostname} port=${port} user=postgres password=${password} application_name=${name}`;
      await writeFile(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
      await writeFile(join(copy, 'standby.signal'), '');
      if (user) await ownAll(copy, user);
      return instanceAt(name, copy);
    },
    close: async () => {
      for (const one of instances.keys()) await one.stop('immediate');
      await rm(root, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ownAll(folder: string, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  const { readdir } = await import('node:fs/promises');
  await chown(folder, uid, gid);
  for (const entry of await readdir(folder, { recursive: true })) await chown(join(folder, entry), uid, gid);
}

type Place = { readonly programs: string; readonly data: string; readonly port: number; readonly user: ServerUser; readonly logFile: string };

function instance({ programs, data, port, user, logFile }: Place): PostgresInstance {
  let child: ChildProcess | null = null;
  let exited: Promise<unknown> = Promise.resolve();
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/openbot`;

  async function ask<R extends object>(sql: string, values: readonly unknown[] = [], to = url): Promise<R[]> {
    const client = new Client({ connectionString: to, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<R>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async function start(settings: Settings = {}, env: Settings = {}): Promise<void> {
    const log: FileHandle = await open(logFile, 'a', 0o600);
    const flags = Object.entries({ ...ours, port: String(port), ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const started = spawn(join(programs, 'postgres'), ['-D', data, ...flags], {
      ...user,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...env },
      stdio: ['ignore', log.fd, log.fd],
    });
    child = started;
    exited = new Promise((resolve) => started.once('exit', resolve));
    void exited.then(() => (child === started ? (child = null) : null));
    await log.close();
    const answers = async (): Promise<boolean> => {
      const postmaster = await readPostmaster(data);
      return postmaster?.pid === started.pid && ['ready', 'standby'].includes(postmaster?.status ?? '');
    };
    await eventually(async () => started.exitCode !== null || (await answers()), Boolean, 60_000);
    if (started.exitCode !== null) throw new Error(`PostgreSQL ended with ${started.exitCode}:\n${await readFile(logFile, 'utf8')}`);
    const [found] = await ask<{ there: boolean }>(`select exists (select from pg_database where datname = 'openbot') as there`, [], url.replace('/openbot', '/postgres'));
    if (!found?.there) await ask('create database openbot', [], url.replace('/openbot', '/postgres'));
  }

  return {
    url,
    get running() {
      return child !== null;
    },
    start,
    stop: async (how) => {
      if (!child) return;
      child.kill(signals[how]);
      await exited;
    },
    ask: (sql, values) => ask(sql, values),
    promote: async () => {
      await ask('select pg_promote(true, 30)', [], url);
    },
    log: () => readFile(logFile, 'utf8'),
  };
}
