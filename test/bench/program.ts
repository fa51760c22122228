import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export type LocalState = { readonly url: string; readonly token: string; readonly botId: string };

/** The built server as a process of its own, in a folder of its own, as `npm start` runs it. */
export class RunningProgram {
  private constructor(
    readonly folder: string,
    private readonly child: ChildProcess,
    readonly state: LocalState,
    /** From the start of the process to its first line that says it is ready. */
    readonly readyMs: number,
  ) {}

  /** `folder`: of an earlier start, whose data it goes on with. */
  static async start(env: Readonly<Record<string, string>>, folder?: string): Promise<RunningProgram> {
    const home = folder ?? (await mkdtemp(join(tmpdir(), 'openbot-bench-server-')));
    const begin = performance.now();
    const child = spawn(process.execPath, [join(__dirname, '..', '..', 'src', 'main.js')], { cwd: home, env: { ...process.env, PORT: '0', OPENBOT_LOG_LEVEL: 'silent', ...env } });
    await new Promise<void>((resolve, reject) => {
      let said = '';
      const hear = (chunk: Buffer): void => {
        said += chunk.toString();
        if (said.includes('OpenBot is ready')) resolve();
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
    const readyMs = performance.now() - begin;
    const state = JSON.parse(await readFile(join(home, '.openbot', 'local.json'), 'utf8')) as LocalState;
    return new RunningProgram(home, child, state, readyMs);
  }

  /** Resident memory of the server's process once it has had nothing to do for a while. */
  async idleMegabytes(): Promise<number> {
    await delay(5_000);
    const status = await readFile(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024;
  }

  async stop(keepsFolder = false): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    if (!keepsFolder) await rm(this.folder, { recursive: true, force: true });
  }
}
