import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtServer } from './built-server.js';
import type { TestDatabase } from './database.js';

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
export type LocalIdentity = {
  readonly url: string;
  readonly token: string;
  readonly memberId: string;
  readonly botId: string;
  readonly organizationId: string;
  readonly projectId: string;
};

/** One run of the program in a process of its own. */
export type ServerRun = {
  /** Where it answers and whom its start has let in. */
  readonly local: LocalIdentity;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** What it has written so far. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
};

/** A place for one run after the other: the same node name and folder, and with them the same token. */
export type ServerPlace = {
  /** Resolves when it takes requests; rejects with what it has written when it ends before. `build` is the folder of another build. */
  start(env?: Readonly<Record<string, string>>, build?: string): Promise<ServerRun>;
  /** As a start that is meant to fail. */
  startRefused(env?: Readonly<Record<string, string>>): Promise<Exit & { readonly output: string; readonly errors: string }>;
  /** Kills what still runs and removes the folder. */
  close(): Promise<void>;
};

export const encryptionKey = `test:${Buffer.alloc(32, 7).toString('base64')}`;
const readyLine = 'OpenBot is ready.';

export type PlaceOptions = { readonly node: string; readonly env?: Readonly<Record<string, string>>; readonly urls?: { readonly apiUrl: string; readonly workerUrl: string } };

/** Servers of this place run on the test's database, with nothing of the test's own environment. */
export async function openServerPlace(database: Pick<TestDatabase, 'url' | 'apiUrl' | 'workerUrl'>, { node, env = {}, urls = database }: PlaceOptions): Promise<ServerPlace> {
  const [built, folder] = await Promise.all([builtServer(), mkdtemp(join(tmpdir(), 'openbot-server-'))]);
  const running = new Set<ChildProcess>();
  const settings = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    PORT: '0',
    DATABASE_URL: database.url,
    DATABASE_API_URL: urls.apiUrl,
    DATABASE_WORKER_URL: urls.workerUrl,
    OPENBOT_ENCRYPTION_KEYS: encryptionKey,
    OPENBOT_NODE: node,
    OPENBOT_LOG_LEVEL: 'warn',
    ...env,
  };

  const launch = (more: Readonly<Record<string, string>>, build = built) => {
    const child = spawn(process.execPath, [join(build, 'src', 'main.js')], { cwd: folder, env: { ...settings, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const said = { all: '', errors: '' };
    const listeners = new Set<() => void>();
    const hear = (part: 'all' | 'errors') => (text: string) => {
      said.all += text;
      if (part === 'errors') said.errors += text;
      for (const listener of listeners) listener();
    };
    child.stdout.setEncoding('utf8').on('data', hear('all'));
    child.stderr.setEncoding('utf8').on('data', hear('errors'));
    const exited = new Promise<Exit>((resolve) =>
      child.once('close', (code, signal) => {
        running.delete(child);
        resolve({ code, signal });
      }),
    );
    const ready = new Promise<'ready'>((resolve) => listeners.add(() => said.all.includes(readyLine) && resolve('ready')));
    return { child, said, exited, ready };
  };

  async function start(more: Readonly<Record<string, string>> = {}, build = built): Promise<ServerRun> {
    const { child, said, exited, ready } = launch(more, build);
    const first = await Promise.race([ready, exited]);
    if (first !== 'ready') throw new Error(`the server ended with ${first.code ?? first.signal}:\n${said.all}`);
    const local = JSON.parse(await readFile(join(folder, '.openbot', 'local.json'), 'utf8')) as LocalIdentity;
    return { local, pid: child.pid ?? 0, exited, output: () => said.all, signal: (signal) => void child.kill(signal) };
  }

  return {
    start,
    startRefused: async (more = {}) => {
      const { said, exited } = launch(more);
      return { ...(await exited), output: said.all, errors: said.errors };
    },
    close: async () => {
      const ended = [...running].map((child) => new Promise((resolve) => child.once('close', resolve)));
      for (const child of running) child.kill('SIGKILL');
      await Promise.all(ended);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
