import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Claimer } from './claimer.js';
import { OwnershipLost, type Committer } from './committer.js';
import { Fiber, type FiberDeps } from './fiber.js';
import type { Claimed } from './head.js';
import type { NodeLiveness } from './node-liveness.js';
import { OwnerWatch, type NodeBeat, type Owner } from './owner-watch.js';
import type { OrganizationKey, Sealing } from './sealing.js';
import type { Places } from './places.js';
import { isPassingStorageError } from './storage-errors.js';
import { findUnknownWorkflows, WorkflowUnknown } from './unknown-workflows.js';
import type { Hint } from './wake-channel.js';

export type RunnerOptions = { readonly slots: number; readonly leaseMs: number; readonly graceMs: number };
export type RunnerDeps = Omit<FiberDeps, 'isDraining'> & {
  readonly pool: Pool;
  readonly liveness: NodeLiveness;
  readonly committer: Committer;
  readonly known: readonly string[];
  readonly sealing: Sealing;
  readonly places?: Pick<Places, 'serve'>;
  /** Whether product events wait for their positions, each time that this was looked at. */
  readonly eventsSeen?: (wait: boolean) => void;
  /** Faults of the loops themselves: reported, never fatal. */
  readonly report: (cause: unknown, category: string) => void;
};

type Around = { readonly owners: readonly Owner[]; readonly nodes: readonly NodeBeat[]; readonly events: boolean; readonly places: boolean };
type Owned = { readonly id: string; readonly claim_id: string; readonly state: string };

const busyPollMs = 50;
const idlePollMs = 1_000;
/** Between two looks around, also where an owner that is gone cannot be taken over yet. */
const leastStepMs = 100;
/** Beyond this the answer to a claim is not merely on its way. */
const strayMs = 1_000;
/** Between two looks for work that nobody knows: it waits for a new build, which takes longer. */
const unknownEveryMs = 60_000;

/** One node's ownership, from taking its epoch to leaving or losing it: claims, runs fibers, watches other owners and its own rows. */
export class Runner {
  private readonly fibers = new Map<string, Fiber>();
  private readonly executions = new Map<string, Fiber>();
  private readonly claimer: Claimer;
  private readonly fiberDeps: FiberDeps;
  private draining = false;
  private stopped = false;
  /** Claims in progress, from the moment that their rows are here. */
  private readonly held = new Set<string>();
  private orphansDue = false;
  /** Claims whose fiber ended without releasing its row: what they had begun is taken back at the cost of a stall. */
  private readonly givenUp = new Set<string>();
  private poke: () => void = () => undefined;
  private poked = false;
  private pollMs = busyPollMs;
  private loops: Promise<void>[] = [];
  private watching = false;

  constructor(
    private readonly deps: RunnerDeps,
    private readonly options: RunnerOptions,
  ) {
    this.claimer = new Claimer(deps.pool, deps.known, deps.liveness.node, deps.liveness.epoch, options.leaseMs);
    this.fiberDeps = { ...deps, isDraining: () => this.draining };
  }

  /** The same name came back: its rows are free at once, whatever their epoch. Then the loops start. */
  async start(): Promise<void> {
    this.deps.ports.observer.tookOver('own-name', await this.release(this.deps.liveness.node, null, [], 1));
    this.loops = [this.claimLoop(), this.sweepLoop()];
  }

  get running(): number {
    return this.held.size;
  }

  /** What this node owns and does not run, at two looks: the answer to a claim may be on its way at one. */
  async strays(): Promise<readonly string[]> {
    const first = new Set((await this.unheld()).map(({ claim_id }) => claim_id));
    if (first.size === 0) return [];
    await delay(strayMs);
    return (await this.unheld()).filter(({ claim_id }) => first.has(claim_id)).map(({ id }) => id);
  }

  private async unheld(): Promise<readonly Owned[]> {
    return (await this.readOwned()).filter(({ claim_id }) => !this.held.has(claim_id));
  }

  private async readOwned(): Promise<readonly Owned[]> {
    const { liveness, pool } = this.deps;
    const { rows } = await pool.query<Owned>({ name: 'openbot_watch', text: 'select id, claim_id, state from watch_owned($1, $2)', values: [liveness.node, liveness.epoch] });
    return rows;
  }

  /** Something about these executions changed: what runs here is looked at. */
  look(hint: Hint): void {
    if (hint === 'all' || hint.some((id) => this.executions.has(id))) this.watchOwned().catch((error: unknown) => this.deps.report(error, 'watch_failed'));
  }

  /** Some of these may be ready. Answers whether this node takes them: not when its slots are full, and not when it leaves. */
  seesTo(hint: Hint): boolean {
    const runsAll = hint !== 'all' && hint.every((id) => this.executions.has(id));
    if (!runsAll) this.wake();
    return !this.draining && !this.stopped && (runsAll || this.held.size < this.options.slots);
  }

  wake(): void {
    this.poked = true;
    this.poke();
  }

  /** Leaves in order: no claims, phases go on to their next commit for the grace period, then they are stopped and everything is handed over. */
  async drain(): Promise<void> {
    this.draining = true;
    this.wake();
    const deadline = performance.now() + this.options.graceMs;
    while (this.held.size > 0 && performance.now() < deadline) await delay(20);
    for (const fiber of this.fibers.values()) fiber.interrupt('shutdown');
    while (this.held.size > 0 && this.deps.liveness.isAlive()) await delay(20);
    await this.halt();
  }

  /**
   * The database went on from another history. Gates close and phases stop at once; what is known already goes out with the handover, under its fence:
   * the database takes it where nothing of that work was lost, and refuses it else.
   */
  async abandon(): Promise<void> {
    this.draining = true;
    this.wake();
    const deadline = performance.now() + this.options.leaseMs;
    for (const fiber of this.fibers.values()) fiber.interrupt('shutdown');
    while (this.held.size > 0 && this.deps.liveness.isAlive() && performance.now() < deadline) await delay(20);
    await this.lose();
  }

  /** The right to own is gone: gates close, nothing more is written or published. */
  async lose(): Promise<void> {
    this.deps.committer.close(new OwnershipLost('this node lost its lease'));
    for (const fiber of this.fibers.values()) fiber.interrupt('lost');
    await this.halt();
  }

  private async halt(): Promise<void> {
    this.stopped = true;
    this.wake();
    await Promise.all(this.loops);
  }

  private async claimLoop(): Promise<void> {
    while (!this.stopped) {
      let nextInMs: number | null = null;
      const idle = !this.poked && this.pollMs === idlePollMs;
      this.poked = false;
      if (this.orphansDue) await this.releaseOrphans();
      if (!this.draining) nextInMs = await this.claimOnce(idle);
      if (nextInMs !== 0) await this.nap(nextInMs);
    }
  }

  /** Answers in how many milliseconds to look again: 0 at once, `null` when nothing is known. */
  private async claimOnce(idle: boolean): Promise<number | null> {
    const slots = Math.min(this.options.slots - this.held.size, 100);
    try {
      const { claimed, nextInMs } = await this.claimer.claim(slots, this.held.size, (claimId) => this.stalls(claimId), idle);
      for (const work of claimed) this.spawn(work);
      this.pollMs = claimed.length > 0 ? busyPollMs : Math.min(this.pollMs * 2, idlePollMs);
      return claimed.length > 0 && claimed.length === slots && this.held.size < this.options.slots ? 0 : nextInMs === 0 ? 1 : nextInMs;
    } catch (error) {
      // Whether the claim took effect is unknown: the sweep gives back what this node owns but does not run.
      this.deps.report(error, 'claim_failed');
      this.orphansDue = true;
      this.pollMs = idlePollMs;
      return null;
    }
  }

  /** Whether a claim that stalled before has committed nothing yet. */
  private stalls(claimId: string): boolean {
    return this.held.has(claimId) && (this.fibers.get(claimId)?.head.stalls ?? 1) > 0;
  }

  private async nap(nextInMs: number | null): Promise<void> {
    if (this.poked) return;
    const jittered = this.pollMs * (0.75 + Math.random() / 2);
    const ms = Math.max(5, Math.min(jittered, nextInMs ?? Number.POSITIVE_INFINITY));
    await new Promise<void>((resolve) => {
      // An instant that has come is as good as a hint.
      const timer = setTimeout(() => {
        this.poked ||= ms === nextInMs;
        resolve();
      }, ms);
      this.poke = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.poke = () => undefined;
  }

  private spawn(work: Claimed): void {
    this.held.add(work.head.claimId);
    this.deps.ports.observer.claimed(work.head, work.ready);
    void (async () => {
      try {
        const key = await this.keyOf(work);
        const fiber = new Fiber(work, key, this.fiberDeps);
        this.fibers.set(work.head.claimId, fiber);
        this.executions.set(work.head.id, fiber);
        if (!(await fiber.run())) this.giveUp(work);
      } catch (error) {
        // A fiber that ends without releasing is a fault; its row is taken back as an orphan.
        this.deps.report(error, 'fiber_failed');
        this.giveUp(work);
      } finally {
        this.held.delete(work.head.claimId);
        this.fibers.delete(work.head.claimId);
        if (this.executions.get(work.head.id)?.head.claimId === work.head.claimId) this.executions.delete(work.head.id);
        if (this.orphansDue || this.held.size + 1 >= this.options.slots) this.wake();
      }
    })();
  }

  private giveUp({ head }: Claimed): void {
    this.givenUp.add(head.claimId);
    this.orphansDue = true;
  }

  /** A database that is away for a moment is not the work's fault and costs it no stall. */
  private async keyOf({ head }: Claimed): Promise<OrganizationKey> {
    for (;;) {
      try {
        return await this.deps.sealing.keyOf(head.context.organizationId);
      } catch (error) {
        if (!isPassingStorageError(error) || !this.deps.liveness.isAlive()) throw error;
        await delay(100);
      }
    }
  }

  private async sweepLoop(): Promise<void> {
    const stepMs = Math.max(100, Math.min(1_000, this.options.leaseMs / 10));
    const watch = new OwnerWatch(this.options.leaseMs);
    let orphansAt = performance.now();
    let unknownAt = performance.now();
    while (!this.stopped) {
      try {
        const { owners, nodes, events, places } = await this.lookAround();
        this.deps.eventsSeen?.(events);
        await this.releaseExpired(watch, owners, nodes);
        await this.watchOwned();
        if (places) await this.deps.places?.serve();
        if (performance.now() - orphansAt >= this.options.leaseMs) {
          orphansAt = performance.now();
          this.orphansDue = true;
          this.wake();
        }
        if (performance.now() - unknownAt >= unknownEveryMs) {
          unknownAt = performance.now();
          await this.reportUnknown();
        }
      } catch (error) {
        this.deps.report(error, 'sweep_failed');
      }
      // At the end: what others own counts from the first look on, and a node that comes to a dead one's work loses no second of it.
      await delay(Math.max(leastStepMs, watch.pauseMs(stepMs)));
    }
  }

  private async reportUnknown(): Promise<void> {
    for (const unknown of await findUnknownWorkflows(this.deps.pool)) this.deps.report(new WorkflowUnknown(unknown), 'workflow_unknown');
  }

  private async lookAround(): Promise<Around> {
    return (await this.deps.pool.query<Around>({ name: 'openbot_look_around', text: 'select owners, nodes, events, places from look_around()' })).rows[0]!;
  }

  private async releaseExpired(watch: OwnerWatch, owners: readonly Owner[], nodes: readonly NodeBeat[]): Promise<void> {
    const { liveness } = this.deps;
    const others = owners.filter(({ owner, epoch }) => owner !== liveness.node || epoch !== liveness.epoch);
    for (const { owner, epoch } of watch.expired(nodes, others, performance.now())) {
      const count = await this.release(owner, epoch, [], 1);
      this.deps.ports.observer.tookOver('expired', count);
      if (count > 0) this.wake();
    }
  }

  /**
   * What this node owns but does not run. Between two claims, so that a fresh one is never taken back. A claim whose answer never came began nothing, and
   * its work is not to blame for the connection: it costs no stall, however often that happens.
   */
  private async releaseOrphans(): Promise<void> {
    const { liveness, ports } = this.deps;
    const givenUp = [...this.givenUp];
    try {
      this.orphansDue = false;
      let count = await this.release(liveness.node, liveness.epoch, [...this.held, ...givenUp], 0);
      if (givenUp.length > 0) count += await this.release(liveness.node, liveness.epoch, [...this.held], 1);
      for (const claimId of givenUp) this.givenUp.delete(claimId);
      ports.observer.tookOver('orphan', count);
    } catch (error) {
      this.orphansDue = true;
      this.deps.report(error, 'sweep_failed');
    }
  }

  private async watchOwned(): Promise<void> {
    if (this.watching || this.fibers.size === 0) return;
    this.watching = true;
    try {
      for (const row of await this.readOwned()) {
        const fiber = this.fibers.get(row.claim_id);
        if (fiber && row.state === 'cancelling' && fiber.head.state === 'running') fiber.interrupt('look');
      }
    } finally {
      this.watching = false;
    }
  }

  private async release(owner: string, epoch: string | null, keep: readonly string[], cost: number): Promise<number> {
    const { rowCount } = await this.deps.pool.query('select release_executions($1, $2, $3::uuid[], $4)', [owner, epoch, keep, cost]);
    return rowCount ?? 0;
  }
}
