import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtServer } from '@test/support/built-server.js';
import type { TestDatabase } from '@test/support/database.js';
import { startTcpProxy, type Passage } from '@test/support/tcp-proxy.js';
import type { ProcessOptions } from './matrix-process.js';

/** One process of a lane, behind a way to the database of its own. */
export type Worker = {
  readonly node: string;
  readonly pid: number;
  readonly exited: Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Whether the operating system says that it is stopped. */
  isStopped(): boolean;
  /** Cuts every connection to the database that is open. */
  cut(): void;
  /** Hints neither leave nor reach it from now on; its connection for them stays open and silent. */
  loseWake(): void;
  hearAgain(): void;
  close(): Promise<void>;
};

const nothing = Buffer.alloc(0);

/** The connection for hints names itself in its first message. */
function wakePassage(isLost: () => boolean): () => Passage {
  return () => {
    let forHints: boolean | null = null;
    return (chunk, direction) => {
      if (direction === 'up') forHints ??= chunk.includes('openbot wake');
      return { pass: forHints && isLost() ? nothing : chunk };
    };
  };
}

export type WorkerOptions = { readonly node: string; readonly leaseMs: number; readonly armed: string };
type Urls = Pick<TestDatabase, 'url' | 'apiUrl' | 'workerUrl'>;

/** The program that the process runs, given its way to the database; `ready` resolves when it may claim. */
type Launch = (urls: Urls) => { readonly child: ChildProcess; readonly ready: Promise<unknown> };

async function startBehindProxy(database: Urls, node: string, launch: Launch): Promise<Worker> {
  let lost = false;
  const proxy = await startTcpProxy(database.workerUrl);
  proxy.through(wakePassage(() => lost));
  const apiUrl = new URL(database.apiUrl);
  apiUrl.port = new URL(proxy.url).port;
  const { child, ready } = launch({ url: database.url, apiUrl: apiUrl.toString(), workerUrl: proxy.url });
  const exited = once(child, 'exit').then(([code, signal]) => String(signal ?? code));
  const failed = await Promise.race([ready.then(() => null), exited]);
  if (failed !== null) throw new Error(`worker ${node}: ${failed}`);
  const pid = child.pid as number;
  return {
    node,
    pid,
    exited,
    kill: (signal) => void child.kill(signal),
    isStopped: () => / [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, ' ')),
    cut: () => proxy.cutAll(),
    loseWake: () => void (lost = true),
    hearAgain: () => void (lost = false),
    close: async () => {
      child.kill('SIGKILL');
      await exited;
      await proxy.close();
    },
  };
}

/** The engine alone, with the matrix's workflow. */
export const startEngineWorker = (database: Urls, options: WorkerOptions): Promise<Worker> =>
  startBehindProxy(database, options.node, (urls) => {
    const all: ProcessOptions = { ...urls, ...options };
    const hook = join(__dirname, '..', '..', 'support', 'typescript-process.cjs');
    const child = fork(join(__dirname, 'matrix-process.ts'), [JSON.stringify(all)], { execArgv: ['-r', hook], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return { child, ready: once(child, 'message') };
  });

/** The built program in the worker's role. */
export async function startProgramWorker(database: Urls, options: WorkerOptions & { readonly env: Readonly<Record<string, string>> }): Promise<Worker> {
  const built = await builtServer();
  return startBehindProxy(database, options.node, (urls) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      DATABASE_URL: urls.url,
      DATABASE_API_URL: urls.apiUrl,
      DATABASE_WORKER_URL: urls.workerUrl,
      OPENBOT_NODE: options.node,
      OPENBOT_LEASE_MS: String(options.leaseMs),
      OPENBOT_LOG_LEVEL: 'fatal',
      OPENBOT_DEBUG_POINT: `file:${options.armed}`,
      ...options.env,
    };
    const child = spawn(process.execPath, [join(built, 'src', 'worker.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ready = new Promise((resolve) => child.stdout.setEncoding('utf8').on('data', (text: string) => text.includes('is ready') && resolve(null)));
    return { child, ready };
  });
}
