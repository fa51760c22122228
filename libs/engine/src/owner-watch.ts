/** What an observer saw of a node: beats count on the observer's own monotonic clock, wall clocks decide nothing. */
type Seen = { readonly mark: string; readonly unchangedMs: number };

export type NodeBeat = { readonly name: string; readonly epoch: string; readonly beat: string };
export type Owner = { readonly owner: string; readonly epoch: string };

/**
 * Decides which owners are gone: one whose (name, epoch) is no live node at once, one whose beat did not change for a whole lease as soon as that
 * was seen. Time in which the observer itself did not look counts at most half a lease: whatever paused it may have paused the others too, and they
 * beat again within a third. A slow observer on a busy machine counts all of its time.
 */
export class OwnerWatch {
  private seen = new Map<string, Seen>();
  private lookedAt: number | null = null;
  private silentMs: number | null = null;

  constructor(private readonly leaseMs: number) {}

  /**
   * How long until the next look: `stepMs` where nobody else owns anything. Half of that else, because a beat counts from the look that saw it; and no
   * longer than until the first silent owner can be gone.
   */
  pauseMs(stepMs: number): number {
    return this.silentMs === null ? stepMs : Math.min(stepMs / 2, Math.max(0, this.leaseMs - this.silentMs));
  }

  expired(nodes: readonly NodeBeat[], owners: readonly Owner[], now: number): Owner[] {
    const passed = this.lookedAt === null ? 0 : Math.min(now - this.lookedAt, this.leaseMs / 2);
    this.lookedAt = now;
    const seen = new Map<string, Seen>();
    for (const { name, epoch, beat } of nodes) {
      const mark = `${epoch}:${beat}`;
      const before = this.seen.get(name);
      seen.set(name, { mark, unchangedMs: before?.mark === mark ? before.unchangedMs + passed : 0 });
    }
    this.seen = seen;
    this.silentMs = owners.length === 0 ? null : Math.max(...owners.map(({ owner }) => seen.get(owner)?.unchangedMs ?? 0));
    return owners.filter(({ owner, epoch }) => {
      const node = seen.get(owner);
      return !node || !node.mark.startsWith(`${epoch}:`) || node.unchangedMs >= this.leaseMs;
    });
  }
}
