import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Measure, Measured } from '../measures.js';
import type { Order } from './serve.js';

/** A contestant in its own process, so that no heap, event loop or pool is shared. */
export class ContestantProcess {
  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {}

  /** `path` is the contestant's module; `flags` are Node's. */
  static async start(name: string, path: string, url: string, flags: readonly string[] = []): Promise<ContestantProcess> {
    const started = new ContestantProcess(name, fork(join(__dirname, 'serve.js'), [path, url], { execArgv: [...flags] }));
    await started.answer();
    return started;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async take(measure: Measure): Promise<Measured> {
    const answer = this.answer();
    this.child.send(measure satisfies Order);
    return (await answer) as Measured;
  }

  async close(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.send('close' satisfies Order);
    await ended;
  }

  private async answer(): Promise<unknown> {
    const failed = new AbortController();
    const exit = (code: number | null): void => failed.abort(new Error(`${this.name} ended with ${code}`));
    this.child.once('exit', exit);
    try {
      const [message] = (await once(this.child, 'message', { signal: failed.signal })) as [unknown];
      return message;
    } finally {
      this.child.removeListener('exit', exit);
    }
  }
}
