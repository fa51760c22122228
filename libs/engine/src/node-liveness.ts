import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';

/** Another live process runs under this node's name. */
export class NodeNameTaken extends Error {
  constructor(readonly node: string) {
    super(`another live process runs as node "${node}"; give this one its own OPENBOT_NODE`);
  }
}

/** Why a node must stop what it does: it may own no longer, or the database goes on from another history than the one that it knows. */
export type LossReason = 'lease' | 'timeline';

/** This life of the process. Its nodes take new epochs, and their names outlive it; what it holds of the outside world does neither. */
export const processId = randomUUID();

const lockKey = `hashtextextended('openbot:node:' || $1, 0)`;

/**
 * This process's right to own work. One connection holds an advisory lock on the node's name (a second live process of that name is refused, a
 * killed one frees it at once) and raises the beat every third of the lease. The right is counted on this process's monotonic clock from *before*
 * the last confirmed beat was sent: a paused process finds its right gone before it can send anything.
 */
export class NodeLiveness {
  private client: Client | null = null;
  private aliveUntil = 0;
  private stopped = false;
  private overdue = false;
  private readonly leaving = new AbortController();
  private beating: Promise<void> = Promise.resolve();
  private timeline: string | null = null;
  epoch = '';

  constructor(
    private readonly connection: ClientConfig,
    readonly node: string,
    private readonly leaseMs: number,
    private readonly onLost: (reason: LossReason) => void,
    /** What this process can move, for those who ask whether anybody can. */
    private readonly knows: readonly string[] = [],
  ) {}

  /** Takes the name and a new epoch. Throws `NodeNameTaken` when its holder beats. */
  async start(): Promise<void> {
    try {
      await this.takeEpoch();
    } catch (error) {
      // Else this very process would hold the name against its own next try.
      await this.disconnect();
      throw error;
    }
    this.beating = this.beat();
  }

  private async takeEpoch(): Promise<void> {
    await this.takeName();
    const sentAt = performance.now();
    const { rows } = await this.query<{ epoch: string; timeline: string | null }>(
      `insert into node (name, epoch, knows, process) values ($1, 1, $2, $3)
       on conflict (name) do update set epoch = node.epoch + 1, beat = node.beat + 1, last_epoch_seen_at = node.seen_at, seen_at = clock_timestamp(), draining = false,
         knows = excluded.knows, process = excluded.process, started_at = clock_timestamp()
       returning epoch, database_timeline() as timeline`,
      [this.node, this.knows, processId],
    );
    this.epoch = rows[0]!.epoch;
    this.timeline = rows[0]!.timeline;
    this.aliveUntil = sentAt + this.leaseMs;
  }

  /** Whoever was told once that the right is gone has acted on it: a late answer to a beat does not bring it back. */
  isAlive(): boolean {
    if (performance.now() >= this.aliveUntil) this.overdue = true;
    return !this.stopped && !this.overdue;
  }

  async markDraining(): Promise<void> {
    await this.query(`update node set draining = true where name = $1 and epoch = $2`, [this.node, this.epoch]).catch(() => undefined);
  }

  /** Gives up this epoch without leaving: the next one is taken at once. */
  async resign(): Promise<void> {
    this.stopped = true;
    this.leaving.abort();
    await this.beating;
    await this.disconnect();
  }

  /** Leaves: the row goes, and with the connection the name is free. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.leaving.abort();
    await this.beating;
    await this.query(`delete from node where name = $1 and epoch = $2`, [this.node, this.epoch]).catch(() => undefined);
    await this.client?.end().catch(() => undefined);
    this.client = null;
  }

  private async beat(): Promise<void> {
    while (!this.stopped) {
      await delay(this.leaseMs / 3, undefined, { ref: false, signal: this.leaving.signal }).catch(() => undefined);
      if (this.stopped) return;
      // Checked before the renewal: a process that was paused past its lease may not find itself alive again by beating once.
      if (!this.isAlive()) return this.lose();
      const confirmed = await this.renew();
      if (confirmed === false || !this.isAlive()) return this.lose();
    }
  }

  /** `false`: the database says that this epoch is over; `null`: no answer. */
  private async renew(): Promise<boolean | null> {
    const sentAt = performance.now();
    try {
      if (!this.client) await this.takeName();
      const { rows } = await this.query<{ timeline: string | null }>(
        `update node set beat = beat + 1, seen_at = clock_timestamp() where name = $1 and epoch = $2 returning database_timeline() as timeline`,
        [this.node, this.epoch],
      );
      if (!rows[0]) return false;
      this.aliveUntil = sentAt + this.leaseMs;
      this.follow(rows[0].timeline);
      return true;
    } catch (error) {
      if (error instanceof NodeNameTaken) return false;
      await this.disconnect();
      return null;
    }
  }

  private lose(): void {
    this.stopped = true;
    void this.disconnect();
    this.onLost('lease');
  }

  /** The right to own lasts meanwhile: what is known is handed over under it. */
  private follow(timeline: string | null): void {
    if (timeline === null || timeline === this.timeline) return;
    const moved = this.timeline !== null;
    this.timeline = timeline;
    if (moved) this.onLost('timeline');
  }

  private async takeName(): Promise<void> {
    const client = await this.connect();
    const startedAt = performance.now();
    let last: string | null = null;
    for (;;) {
      const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${lockKey}) as taken`, [this.node]);
      if (rows[0]?.taken) return;
      const beat = (await client.query<{ beat: string }>(`select epoch || ':' || beat as beat from node where name = $1`, [this.node])).rows[0]?.beat ?? null;
      // A row that went is a holder that leaves.
      if (last !== null && beat !== null && beat !== last) break;
      last = beat;
      if (performance.now() - startedAt > this.leaseMs) {
        // The holder was seen not to beat for a whole lease: its backend only waits for a dead peer.
        await client.query(
          `select pg_terminate_backend(l.pid) from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
          and ((l.classid::bigint << 32) | l.objid::bigint) = ${lockKey}`,
          [this.node],
        );
      }
      await delay(Math.min(100, this.leaseMs / 10));
    }
    await this.disconnect();
    throw new NodeNameTaken(this.node);
  }

  private async connect(): Promise<Client> {
    const client = new Client({
      ...this.connection,
      keepAlive: true,
      keepAliveInitialDelayMillis: Math.max(1000, this.leaseMs / 3),
      connectionTimeoutMillis: this.leaseMs,
      query_timeout: this.leaseMs,
      application_name: `openbot:${this.node}`.slice(0, 63),
    });
    client.on('error', () => {
      if (this.client === client) void this.disconnect();
    });
    await client.connect();
    this.client = client;
    return client;
  }

  private async disconnect(): Promise<void> {
    const { client } = this;
    this.client = null;
    await client?.end().catch(() => undefined);
  }

  private query<R extends object>(text: string, values: unknown[]) {
    if (!this.client) return Promise.reject(new Error('the renewal connection is closed'));
    return this.client.query<R>(text, values);
  }
}
