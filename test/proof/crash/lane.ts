import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import { rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import type { Worker } from './worker.js';

export const disturbances = ['kill -9', 'SIGSTOP', 'cut', 'lost wake'] as const;
export type Disturbance = (typeof disturbances)[number];
export type Cell = { readonly point: string; readonly time: number; readonly disturbance: Disturbance };

export type Call = { readonly step: number; readonly name: string; readonly attempt: number };
export type Decided = Call & { readonly decision: 'result' | 'retry' };
export type Outcome<Portrait> = {
  readonly portrait: Portrait;
  /** Unproven calls that were being sent, without a saved result, when it happened. */
  readonly open: readonly Call[];
  /** Calls whose execution waited in `outcome_unknown`, and how the person decided. */
  readonly unknown: readonly Decided[];
  readonly tookMs: number;
};

export type Head = { readonly id: string; readonly state: ExecutionState; readonly owner: string | null; readonly ended_at: Date | null };

/** What a lane does again and again. */
export type Scenario<Portrait> = {
  readonly superuser: Pool;
  startWorker(options: { readonly node: string; readonly leaseMs: number; readonly armed: string }): Promise<Worker>;
  /** Hands in new work; answers its id. */
  admit(): Promise<string>;
  /** What happens to the work from outside, whenever somebody looks. */
  interfere?(head: Head): Promise<void>;
  /** Gives the work what it waits for, once. */
  feed(head: Head, hints: boolean): Promise<void>;
  /** A person settles every unknown call of the work. */
  decide(id: string): Promise<readonly Decided[]>;
  portrait(id: string): Promise<Portrait>;
  close(): Promise<void>;
};

const leaseMs = 1_500;
/** A node beats three times in a lease: by then, one that stood still has been seen not to beat for longer than that. */
const beatsPastLease = 5;
const patienceMs = 30_000;
/** What a stopped process holds in an open transaction nobody takes over: the fence in that transaction is its right, and it ends with it. */
const isInTransaction = (point: string): boolean => point.endsWith('locked');

/** Two processes that are both ready for the work. Whoever gets to the armed point first is disturbed. */
export class Lane<Portrait> {
  private workers: Worker[] = [];
  private started = 0;
  private readonly folder = mkdtempSync(join(tmpdir(), 'openbot-crash-'));
  private readonly armed = join(this.folder, 'armed');

  private constructor(
    private readonly name: string,
    private readonly scenario: Scenario<Portrait>,
  ) {}

  static async open<Portrait>(name: string, scenario: Scenario<Portrait>): Promise<Lane<Portrait>> {
    const lane = new Lane(name, scenario);
    await Promise.all([lane.startWorker(), lane.startWorker()]);
    return lane;
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
    await this.scenario.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The work without any disturbance: what every cell is held against. */
  async undisturbed(): Promise<Portrait> {
    const id = await this.scenario.admit();
    await eventually(() => this.advance(id, true), ({ ended_at }) => ended_at !== null, patienceMs); // prettier-ignore
    return this.scenario.portrait(id);
  }

  /** The cells that are left, one after the other. One that fails leaves two fresh processes to the next. */
  async work(cells: Cell[], outcomes: Map<Cell, Outcome<Portrait> | Error>): Promise<void> {
    for (let cell = cells.shift(); cell; cell = cells.shift()) {
      try {
        outcomes.set(cell, await this.run(cell));
      } catch (error) {
        outcomes.set(cell, error as Error);
        await Promise.all(this.workers.splice(0).map((worker) => worker.close()));
        await Promise.all([this.startWorker(), this.startWorker()]);
      }
    }
  }

  private async run(cell: Cell): Promise<Outcome<Portrait>> {
    const began = performance.now();
    writeFileSync(this.armed, `${cell.point}#${cell.time}@${cell.disturbance === 'kill -9' ? 'SIGKILL' : 'SIGSTOP'} ${randomUUID()}`);
    const id = await this.scenario.admit();
    const victim = await this.victimOf(id);
    if (cell.disturbance === 'kill -9') await victim.exited;
    else await eventually(() => victim.isStopped());
    const open = await this.openCalls(id);
    const hints = cell.disturbance !== 'lost wake';
    // Answered at once: the fresh process comes while the other takes over.
    const { replaced } = await this.disturb(cell, victim, () => this.advance(id, hints));
    const unknown: Decided[] = [];
    for (;;) {
      const isSettled = ({ state, owner }: Head): boolean => hasEnded(state) || (state === 'outcome_unknown' && owner === null);
      const head = await eventually(() => this.advance(id, hints), isSettled, patienceMs);
      if (hasEnded(head.state)) break;
      unknown.push(...(await this.scenario.decide(id)));
    }
    await replaced;
    for (const worker of this.workers) worker.hearAgain();
    return { portrait: await this.scenario.portrait(id), open, unknown, tookMs: performance.now() - began };
  }

  private async startWorker(): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      this.started += 1;
      try {
        this.workers.push(await this.scenario.startWorker({ node: `${this.name}-${this.started}`, leaseMs, armed: this.armed }));
        return;
      } catch (error) {
        // A machine that is out of breath may need a second start; what cannot start at all fails thrice.
        if (failures === 2) throw error;
      }
    }
  }

  private async advance(id: string, hints: boolean): Promise<Head> {
    const [head] = await rowsOf<Head>(this.scenario.superuser, 'select id, state, owner, ended_at from execution where id = $1', [id]);
    if (!head) throw new Error('the execution is gone');
    await this.scenario.interfere?.(head);
    if (head.state === 'waiting' && head.owner === null) await this.scenario.feed(head, hints);
    return head;
  }

  private async victimOf(id: string): Promise<Worker> {
    let endedAt: number | null = null;
    const pid = await eventually(
      async () => {
        const taken = readdirSync(this.folder).find((file) => file.startsWith('armed.'));
        if (taken) return Number(taken.slice('armed.'.length));
        const { ended_at } = await this.advance(id, true);
        // The last points are reached behind the commit of the end.
        if (ended_at) endedAt ??= performance.now();
        if (endedAt !== null && performance.now() - endedAt > 5_000) throw new Error('the work ended and never came to this point');
        return null;
      },
      (found) => found !== null,
      patienceMs,
    );
    rmSync(`${this.armed}.${pid}`);
    const victim = this.workers.find((worker) => worker.pid === pid);
    if (!victim) throw new Error('a process of another lane took the point');
    return victim;
  }

  private openCalls(id: string): Promise<Call[]> {
    return rowsOf<Call>(
      this.scenario.superuser,
      `select step, name, attempt from execution_call where execution_id = $1 and safety = 'unproven' and state = 'sending' order by step`,
      [id],
    );
  }

  private async disturb({ point, disturbance }: Cell, victim: Worker, advance: () => Promise<Head>): Promise<{ readonly replaced: Promise<unknown> }> {
    if (disturbance === 'kill -9') {
      this.workers = this.workers.filter((worker) => worker !== victim);
      return { replaced: Promise.all([victim.close(), this.startWorker()]) };
    }
    if (disturbance === 'SIGSTOP') await this.outlast(victim, advance, isInTransaction(point));
    if (disturbance === 'cut') victim.cut();
    if (disturbance === 'lost wake') for (const worker of this.workers) worker.loseWake();
    victim.kill('SIGCONT');
    return { replaced: Promise.resolve() };
  }

  /** Until the other has seen a whole lease without a beat of the victim, and has taken over what the victim held. Then the victim wakes, and comes back with a new epoch. */
  private async outlast(victim: Worker, advance: () => Promise<Head>, holdsHead: boolean): Promise<void> {
    const other = this.workers.find((worker) => worker !== victim) as Worker;
    const nodeOf = async (node: string) => (await rowsOf<{ beat: string; epoch: string }>(this.scenario.superuser, 'select beat, epoch from node where name = $1', [node]))[0];
    const [before, epoch] = [Number((await nodeOf(other.node))?.beat), (await nodeOf(victim.node))?.epoch];
    await eventually(async () => Number((await nodeOf(other.node))?.beat), (beat) => beat >= before + beatsPastLease, patienceMs); // prettier-ignore
    if (!holdsHead) await eventually(advance, ({ owner }) => owner !== victim.node, patienceMs);
    victim.kill('SIGCONT');
    await eventually(async () => (await nodeOf(victim.node))?.epoch, (now) => now !== undefined && now !== epoch, patienceMs); // prettier-ignore
  }
}
