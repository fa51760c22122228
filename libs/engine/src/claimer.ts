import type { Pool } from 'pg';
import { toClaimed, type Claimed, type ClaimRow } from './head.js';

/** Known workflows, node, epoch, how many, and whether what stalled; answers `ClaimRow`s. */
export const claimText = 'select row_to_json(c) as claim from claim_executions($1, $2, $3, $4, $5) c';
const stalledPatienceMs = 5_000;

type NextReady = { readonly ready: boolean; readonly ready_in_ms: number | null; readonly stalled_ready: boolean };
export type Ready = { readonly claimed: readonly Claimed[]; readonly nextInMs: number | null };

/**
 * One claim at a time. Work that stalled three times or more gets the node for itself: once some is ready, new claims pause until the rest has
 * finished (at most five seconds), so that what kills a process takes nothing else with it.
 *
 * Nodes that die one after another leave many that stalled, and most are bystanders. They are taken in groups that get smaller with every death, and
 * the last is alone; so each is found innocent or guilty before it is ended, and hundreds wait for a few groups, not for each other. Other work
 * waits for one that is alone until it has moved, and for a group five seconds at most.
 */
export class Claimer {
  private aloneSince: number | null = null;
  private suspects: { readonly claims: readonly string[]; readonly since: number } | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly known: readonly string[],
    private readonly node: string,
    private readonly epoch: string,
    private readonly answerMs: number,
  ) {}

  /**
   * Claims up to `slots`; `running` claims are in progress, `stalls` says of one whether it has committed nothing yet. Who is `idle`, because nothing was
   * there and nobody said that something is, reads before it claims: one statement instead of two.
   */
  async claim(slots: number, running: number, stalls: (claimId: string) => boolean, idle = false): Promise<Ready> {
    if (this.holdOff(stalls)) return { claimed: [], nextInMs: null };
    if (this.aloneSince !== null) return this.claimSuspects(slots, running);
    const next = idle ? await this.nextReady() : null;
    if (next && !next.ready) return { claimed: [], nextInMs: next.ready_in_ms };
    return this.claimReady(slots);
  }

  private async claimReady(slots: number): Promise<Ready> {
    const claimed = slots > 0 ? await this.ask(slots, false) : [];
    if (claimed.length > 0) return { claimed, nextInMs: null };
    const next = await this.nextReady();
    if (next.stalled_ready) this.aloneSince = performance.now();
    if (next.stalled_ready) return { claimed, nextInMs: 0 };
    // Who is full hears of a free slot, and no instant makes one.
    return { claimed, nextInMs: slots > 0 ? next.ready_in_ms : null };
  }

  private async nextReady(): Promise<NextReady> {
    const { rows } = await this.pool.query<NextReady>({ name: 'openbot_next_ready', text: 'select * from next_ready($1)', values: [this.known] });
    return rows[0]!;
  }

  /** Whether what was taken by itself still has the node for itself. */
  private holdOff(stalls: (claimId: string) => boolean): boolean {
    if (!this.suspects) return false;
    const { claims, since } = this.suspects;
    const isHeld = (claims.length === 1 || performance.now() - since < stalledPatienceMs) && claims.some(stalls);
    if (!isHeld) this.suspects = null;
    return isHeld;
  }

  private async claimSuspects(slots: number, running: number): Promise<Ready> {
    if (running > 0 && performance.now() - (this.aloneSince ?? 0) < stalledPatienceMs) return { claimed: [], nextInMs: 50 };
    this.aloneSince = null;
    const claimed = await this.ask(Math.max(1, slots), true);
    if (claimed.length > 0) this.suspects = { claims: claimed.map(({ head }) => head.claimId), since: performance.now() };
    return { claimed, nextInMs: null };
  }

  /** A claim whose answer does not come within a lease is as good as unknown: what it took is given back as an orphan. */
  private async ask(limit: number, alone: boolean): Promise<Claimed[]> {
    const question = { name: 'openbot_claim', text: claimText, query_timeout: this.answerMs, values: [this.known, this.node, this.epoch, limit, alone] };
    const { rows } = await this.pool.query<{ claim: ClaimRow }>(question);
    return rows.map(({ claim }) => toClaimed(claim, this.epoch));
  }
}
