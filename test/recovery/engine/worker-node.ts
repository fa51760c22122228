import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestDatabase } from '@test/support/database.js';
import type { NodeOptions } from './node-process.js';

export type WorkerNode = {
  readonly process: ChildProcess;
  /** What it said first: `started`, or the name of what kept it from starting; `exited` when it said nothing. */
  readonly said: Promise<string>;
  /** Resolves with the signal or the code of its end. */
  readonly exited: Promise<string>;
  kill(signal: NodeJS.Signals): void;
};

/** Starts a worker process; it lives until it is killed, or the test process ends. */
export function startNode({ url, apiUrl, workerUrl }: TestDatabase, options: Pick<NodeOptions, 'node' | 'workflows'> & Partial<NodeOptions>): WorkerNode {
  const all: NodeOptions = { url, apiUrl, workerUrl, leaseMs: 1_500, ...options };
  const hook = join(__dirname, '..', '..', 'support', 'typescript-process.cjs');
  const child = fork(join(__dirname, 'node-process.ts'), [JSON.stringify(all)], { execArgv: ['-r', hook], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit').then(([code, signal]) => String(signal ?? code));
  const said = Promise.race([once(child, 'message').then(([message]) => String(message)), exited.then(() => 'exited')]);
  return { process: child, said, exited, kill: (signal) => void child.kill(signal) };
}

export async function startedNode(...args: Parameters<typeof startNode>): Promise<WorkerNode> {
  const node = startNode(...args);
  const said = await node.said;
  if (said !== 'started') throw new Error(`node ${args[1].node}: ${said}`);
  return node;
}
