import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ServerUser } from './postgres-binaries.js';
import { readPostmaster, until } from './postmaster.js';
import { StartFailure } from './start-failure.js';

/** Nothing of our own environment reaches the server. */
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** The port of the last run when it is free, so that tools which point at it go on working; else any free one. */
export async function freePort(preferred: number): Promise<number> {
  for (const port of [preferred, 0]) {
    const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
    const listening = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!listening) continue;
    const { port: free } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    return free;
  }
  throw new StartFailure('No port of 127.0.0.1 is free for the embedded PostgreSQL: set DATABASE_URL to a PostgreSQL of your own.');
}

/** As whom the server's programs run, where they write, and whom they keep waiting. */
export type Host = { readonly user: ServerUser; readonly log: FileHandle; readonly busy: () => void };

/** Runs one program to its end, as the server's user and with its output in the log. */
async function run(program: string, args: readonly string[], { user, log, busy }: Host): Promise<void> {
  const child = spawn(program, args, { ...user, cwd: '/', env: environment, stdio: ['ignore', log.fd, log.fd] });
  busy();
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}

/** Makes the data folder beside its place and renames it there, so that a killed first start leaves no half of one. */
export async function createCluster(programs: string, data: string, password: string, host: Host): Promise<void> {
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

/** A data folder belongs to one major version. */
export async function checkVersion(data: string, major: string): Promise<void> {
  const made = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  if (made !== major)
    throw new StartFailure(
      `The data in ${data} were made by PostgreSQL ${made} and this program brings ${major}: start the version that made them, or move them away to begin anew.`,
    );
}

/** Starts the server in a process group of its own: Ctrl-C in a terminal reaches us alone, and we stop it last. */
export async function launch(programs: string, data: string, port: number, settings: Readonly<Record<string, string>>, { user, log, busy }: Host): Promise<number | null> {
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
