import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { WireMove } from './commit-item.js';
import type { Head } from './head.js';
import { isRefusedStatement } from './storage-errors.js';

/** What became of it: `stored` and the work wakes, `history` behind a decision or the end, `already` saved, `gone` with the work. */
export type LateOutcome = 'stored' | 'history' | 'already' | 'gone';

type Parts = {
  readonly pool: Pool;
  readonly published: (executionId: string) => void;
  readonly reach: (point: string) => void;
  readonly report: (cause: unknown, category: string) => void;
  /** How long a database that is away is waited for. */
  readonly patienceMs?: number;
};

const statement = { name: 'openbot_late_result', text: 'select late_result($1, $2, $3, $4::jsonb) as outcome', query_timeout: 10_000 };

/**
 * Hands in what a sender knows of its calls when it owns their work no more. Beside the fibers, which have ended or go on; no fence asks who it is,
 * because the statement is a compare-and-set on the call alone. A process that ends in between leaves the call as unknown as it was.
 */
export class LateResults {
  private readonly open = new Set<Promise<void>>();
  private closing = false;

  constructor(private readonly parts: Parts) {}

  handIn(head: Pick<Head, 'id' | 'context'>, moves: readonly WireMove[]): void {
    for (const move of moves) {
      const saving = this.save(head, move).catch((error: unknown) => this.parts.report(error, 'late_result_lost'));
      this.open.add(saving);
      void saving.finally(() => this.open.delete(saving));
    }
  }

  /** Waits for what is on its way; what the database does not take at once now is lost. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.open);
  }

  private async save({ id, context }: Pick<Head, 'id' | 'context'>, move: WireMove): Promise<void> {
    const until = performance.now() + (this.parts.patienceMs ?? 600_000);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { rows } = await this.parts.pool.query<{ outcome: LateOutcome }>({ ...statement, values: [context.organizationId, context.projectId, id, JSON.stringify(move)] });
        this.parts.reach('call:late-saved');
        if (rows[0]?.outcome === 'stored') this.parts.published(id);
        return;
      } catch (error) {
        // Sent twice it is the same: the second finds it saved.
        if (isRefusedStatement(error) || this.closing || performance.now() >= until) throw error;
        await delay(Math.min(50 * 2 ** Math.min(attempt, 7), 5_000) * (0.75 + Math.random() / 2));
      }
    }
  }
}
