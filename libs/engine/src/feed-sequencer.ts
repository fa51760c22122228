import type { Pool } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';

export type SequencerDeps = {
  readonly pool: Pool;
  /** These projects' feeds have new positions: their readers may look. */
  readonly numbered: (projects: readonly string[]) => void;
  readonly report: (cause: unknown, category: string) => void;
  readonly reach: (point: string) => void;
};

type Numbered = { readonly project: string; readonly events: number };

/** Two runs are at least this far apart: what is committed meanwhile is numbered together. */
const minIntervalMs = 10;
const sweepMs = 1_000;
/** Keeps a run short also after a time in which nobody numbered. */
const maxEvents = 2_000;

/**
 * Gives committed product events their positions. Every node runs one: after its own commits, when it hears of others', and by a sweep, so that no node
 * and no hint is needed for an event to become readable. Whatever is lost, the rows wait in the inbox for whoever comes next.
 */
export class FeedSequencer {
  private looked = false;
  private running: Promise<void> | null = null;
  private lastRunAt = -minIntervalMs;
  private sweep: NodeJS.Timeout | null = null;
  /** When somebody else last looked into the inbox. */
  private seenAt = -Infinity;

  constructor(private readonly deps: SequencerDeps) {}

  start(): void {
    this.sweep ??= setInterval(() => {
      if (performance.now() - this.seenAt > 1.5 * sweepMs) this.look();
    }, sweepMs).unref();
    this.look();
  }

  /** A node in office looks around once a second anyway: while it says what lies in the inbox, no sweep of its own is needed. */
  seen(waits: boolean): void {
    this.seenAt = performance.now();
    if (waits) this.look();
  }

  /** Something that a feed tells may have been committed. */
  look(): void {
    this.looked = true;
    if (this.sweep) this.running ??= this.run().finally(() => (this.running = null));
  }

  /** After it resolves no run is on its way. */
  async stop(): Promise<void> {
    if (this.sweep) clearInterval(this.sweep);
    this.sweep = null;
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.looked && this.sweep) {
      const earlyMs = this.lastRunAt + minIntervalMs - performance.now();
      if (earlyMs > 0) await delay(earlyMs);
      this.looked = false;
      this.lastRunAt = performance.now();
      await this.number();
    }
  }

  /** A run that failed took nothing away: the sweep repeats it. */
  private async number(): Promise<void> {
    try {
      const { rows } = await this.deps.pool.query<Numbered>({
        name: 'openbot_sequence_feed',
        text: 'select o_project as project, o_numbered as events from sequence_feed($1)',
        values: [maxEvents],
      });
      if (rows.length === 0) return;
      this.deps.reach('feed:numbered');
      this.deps.numbered(rows.map(({ project }) => project));
      this.looked ||= rows.reduce((sum, { events }) => sum + events, 0) >= maxEvents;
    } catch (error) {
      this.deps.report(error, 'feed_failed');
    }
  }
}
