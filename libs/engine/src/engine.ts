import { setTimeout as delay } from 'node:timers/promises';
import type { CommandBus } from '@nestjs/cqrs';
import type { ClientConfig, Pool } from 'pg';
import { unobserved, type EngineObserver } from './observer.js';
import type { EnginePorts } from './ports.js';
import { Committer, OwnershipLost } from './committer.js';
import { FeedSequencer } from './feed-sequencer.js';
import type { LoadedWork } from './loaded-work.js';
import type { Head } from './head.js';
import { LateResults } from './late-results.js';
import { LeaseStore } from './lease-store.js';
import { NodeLiveness, NodeNameTaken, type LossReason } from './node-liveness.js';
import { Places } from './places.js';
import { Runner, type RunnerOptions } from './runner.js';
import type { Sealing } from './sealing.js';
import type { WakeChannel } from './wake-channel.js';
import type { Workflows } from './workflows.js';

export type EngineOptions = RunnerOptions & {
  readonly node: string;
  /** Where the renewal connection goes: the worker's login, directly to the primary. */
  readonly connection: ClientConfig;
  /** `false`: commits go one by one. For measurement and proof. */
  readonly groupedCommits?: boolean;
};

export type EngineHost = Pick<EnginePorts, 'transact' | 'recordError' | 'publicErrorId' | 'reach'> & {
  readonly pool: Pool;
  readonly commands: CommandBus;
  readonly workflows: Workflows;
  readonly sealing: Sealing;
  readonly wake: WakeChannel;
  readonly report: (cause: unknown, category: string) => void;
  readonly observer?: EngineObserver;
};

/**
 * The worker of one process. It owns work under its node's name for as long as its beats are confirmed; when that right is lost, everything that
 * acted under it is stopped before the process takes a new epoch and claims anew.
 */
export class Engine {
  private runner: Runner | null = null;
  private liveness: NodeLiveness | null = null;
  private stopping = false;
  private restarting: Promise<void> = Promise.resolve();
  private unsubscribe: () => void = () => undefined;
  private publishing = false;
  private telling = false;
  private readonly sequencer: FeedSequencer;
  committer: Committer | null = null;
  /** Outlives every epoch: what an old one's senders know is handed in by the process. */
  private readonly lateResults: LateResults;
  private readonly places: Places;
  /** Outlives every epoch too: a process closes what it has opened. */
  private readonly leases: LeaseStore;
  private readonly leaving = new AbortController();

  constructor(
    private readonly host: EngineHost,
    private readonly options: EngineOptions,
  ) {
    const { pool, report, reach } = host;
    this.sequencer = new FeedSequencer({ pool, report, reach, numbered: (projects) => this.tell(projects) });
    this.places = new Places({ pool, report, reach, woken: (ids) => host.wake.publish(ids) });
    this.leases = new LeaseStore(pool, this.leaving.signal);
    this.lateResults = new LateResults({ pool, report, reach, published: (id) => this.publish(id) });
  }

  /** Throws `NodeNameTaken` when another live process has the name. */
  async start(): Promise<void> {
    await this.takeOffice();
    const { wake } = this.host;
    this.sequencer.start();
    const stopListening = wake.subscribe((hint) => {
      // What an own fiber committed, it knows. What was admitted or ended elsewhere may be what a feed tells.
      if (this.publishing || this.telling) return;
      this.runner?.look(hint);
      this.sequencer.look();
    });
    const stopWorking = wake.offerTo((hint) => this.telling || (this.runner?.seesTo(hint) ?? false));
    this.unsubscribe = () => {
      stopListening();
      stopWorking();
    };
  }

  get slots(): number {
    return this.options.slots;
  }

  get running(): number {
    return this.runner?.running ?? 0;
  }

  isAlive(): boolean {
    return this.liveness?.isAlive() ?? false;
  }

  /** What this node owns and does not run, seen twice: a claim whose answer is on its way is neither. */
  async strays(): Promise<readonly string[]> {
    return (await this.runner?.strays()) ?? [];
  }

  /** Phases go on to their next commit for the grace period; then everything is handed over and the name is free. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.restarting;
    await this.liveness?.markDraining();
    await this.runner?.drain();
    this.leaving.abort();
    await this.lateResults.close();
    this.unsubscribe();
    await this.sequencer.stop();
    await this.liveness?.stop();
  }

  private async takeOffice(): Promise<void> {
    const { host, options } = this;
    const observer = host.observer ?? unobserved;
    let inOffice = false;
    let lost = false;
    const liveness = new NodeLiveness(
      options.connection,
      options.node,
      options.leaseMs,
      (reason) => {
        lost = true;
        if (!inOffice) return;
        inOffice = false;
        this.restarting = this.loseOffice(reason);
      },
      host.workflows.known,
    );
    await liveness.start();
    const committer = new Committer(host.pool, options.groupedCommits ?? true, observer);
    const ports: EnginePorts = {
      transact: host.transact,
      recordError: host.recordError,
      publicErrorId: host.publicErrorId,
      reach: host.reach,
      observer,
      // Bound to this epoch: what was started under an older one may never send again.
      assertOwned: () => {
        if (!liveness.isAlive()) throw new OwnershipLost('this node lost its lease');
      },
      published: (id) => this.publish(id),
      told: () => {
        host.reach('feed:told');
        this.sequencer.look();
      },
      placesFreed: () => void this.places.serve(),
    };
    const runner = new Runner(
      {
        pool: host.pool,
        liveness,
        committer,
        commands: host.commands,
        ports,
        sealing: host.sealing,
        known: host.workflows.known,
        workflowOf: (name) => host.workflows.workflowOf(name),
        load: (head) => this.load(head),
        lateResults: this.lateResults,
        leases: this.leases,
        processLeaves: this.leaving.signal,
        places: this.places,
        eventsSeen: (waits) => this.sequencer.seen(waits),
        timeLeft: (head) => this.timeLeft(head),
        report: host.report,
      },
      options,
    );
    try {
      await runner.start();
      if (lost || !liveness.isAlive()) throw new OwnershipLost('this node lost its lease while it started');
    } catch (error) {
      // A beat that goes on would keep the name from this process's own next try.
      await runner.lose();
      await liveness.stop();
      throw error;
    }
    inOffice = true;
    Object.assign(this, { runner, liveness, committer });
  }

  private async loseOffice(reason: LossReason): Promise<void> {
    if (reason === 'lease') {
      this.host.report(new OwnershipLost('this node lost its lease; it starts anew'), 'lease_lost');
      this.host.observer?.lostLease();
      await this.runner?.lose();
    } else {
      this.host.report(new OwnershipLost('the database is on another timeline; this node starts anew'), 'timeline_changed');
      this.host.reach('timeline:changed');
      await this.runner?.abandon();
      await this.liveness?.resign();
      this.host.reach('timeline:resigned');
    }
    for (let pause = 100; !this.stopping; pause = Math.min(pause * 2, 5_000)) {
      try {
        return await this.takeOffice();
      } catch (error) {
        if (error instanceof NodeNameTaken) this.host.report(error, 'node_name_taken');
        await delay(pause);
      }
    }
  }

  /** Feeds are for readers alone: no work waits for them. */
  private tell(projects: readonly string[]): void {
    this.telling = true;
    try {
      this.host.wake.publish(projects);
    } finally {
      this.telling = false;
    }
  }

  private publish(id: string): void {
    this.publishing = true;
    try {
      this.host.wake.publish([id]);
    } finally {
      this.publishing = false;
    }
  }

  private async load(head: Head): Promise<LoadedWork> {
    const { rows } = await this.host.pool.query<{ work: LoadedWork }>({
      name: 'openbot_load',
      text: 'select load_work($1, $2, $3) as work',
      values: [head.context.organizationId, head.context.projectId, head.id],
    });
    return rows[0]!.work;
  }

  private async timeLeft(head: Head): Promise<number | null> {
    const { rows } = await this.host.pool.query<{ ms: number | null }>({
      name: 'openbot_time_left',
      text: 'select time_left($1, $2, $3) as ms',
      values: [head.context.organizationId, head.context.projectId, head.id],
    });
    return rows[0]!.ms;
  }
}
