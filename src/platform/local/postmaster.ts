import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

/** What a running server writes into its data folder. */
export type Postmaster = { readonly pid: number; readonly port: number; readonly status: string };

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, port: Number(lines[3] ?? 0), status: (lines[7] ?? '').trim() } : null;
}

/** The command line of a process: a pid in a file may long belong to another program. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  );
}

/** The live server of a data folder, or `null`. A file that a crash left behind is no server. */
export async function livePostmaster(data: string): Promise<Postmaster | null> {
  const postmaster = await readPostmaster(data);
  if (!postmaster || !isAlive(postmaster.pid)) return null;
  const command = await commandOf(postmaster.pid);
  return command.includes('postgres') && command.includes(data) ? postmaster : null;
}

/** Waits for a fact that has no event. Returns whether it came true within `withinMs`. */
export async function until(fact: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const start = performance.now();
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 1.5, 100)) {
    if (await fact()) return true;
    if (performance.now() - start > withinMs) return false;
    await pause(waitMs);
  }
}

/** Fast shutdown (open transactions are rolled back), then, when that takes too long, an immediate one: the next start recovers from the log. */
export async function stopPostmaster(pid: number, withinMs = 20_000): Promise<void> {
  const signals: readonly [NodeJS.Signals, number][] = [
    ['SIGINT', withinMs],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 2_000],
  ];
  for (const [signal, waitMs] of signals) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if (await until(() => !isAlive(pid), waitMs)) return;
  }
}
