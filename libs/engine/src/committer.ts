import type { Pool } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommitItem, CommitOutcome, GateAnswer } from './commit-item.js';
import { Lanes, type Waiting } from './lanes.js';
import { unobserved, type EngineObserver } from './observer.js';
import { isRefusedStatement } from './storage-errors.js';

type Answer = { readonly o_id: string; readonly o_outcome: CommitOutcome | 'busy'; readonly o_gate: GateAnswer | null };
type Settled = { readonly outcome: CommitOutcome; readonly gate: GateAnswer | null };

const settledOf = (answer: Answer & { readonly o_outcome: CommitOutcome }): Settled => ({ outcome: answer.o_outcome, gate: answer.o_gate });
const isAnswer = (answer: Answer | undefined): answer is Answer & { readonly o_outcome: CommitOutcome } => answer !== undefined && answer.o_outcome !== 'busy';
type WaitingCommit = Waiting & { readonly id: string; readonly resolve: (settled: Settled) => void; readonly reject: (error: unknown) => void };

/** A connection that answers nothing for this long is given up, and what it carried goes out again over another. */
const answerMs = 10_000;
const statement = { name: 'openbot_commit_batch', text: 'select o_id, o_outcome, o_gate from commit_batch($1::jsonb, $2)', query_timeout: answerMs };

/** Ownership ended while a commit was on its way: whoever waited must stop and publish nothing. */
export class OwnershipLost extends Error {}

/**
 * Group commit. A commit's bytes are frozen when it is handed in, so that after an unknown result exactly the same bytes go out again until a row or
 * a data error answers. Items of a lost or refused batch go back alone, through the same function that then waits for locks.
 */
export class Committer {
  private readonly lanes = new Lanes<WaitingCommit>((batch) => this.flush(batch));
  private closedBy: Error | null = null;
  readonly counts = { batches: 0, items: 0, singles: 0, resent: 0 };

  constructor(
    private readonly pool: Pool,
    /** `false` sends every commit alone: what the grouped path is measured and tested against. */
    private readonly grouped = true,
    private readonly observer: EngineObserver = unobserved,
  ) {}

  /** Resolves once the database answered for this commit. Rejects for data errors and when the node lost its ownership. */
  submit(item: CommitItem): Promise<Settled> {
    if (this.closedBy) return Promise.reject(this.closedBy);
    const bytes = JSON.stringify(item);
    this.counts.items += 1;
    return new Promise((resolve, reject) => {
      const waiting = { id: item.id, bytes, resolve, reject };
      // Who holds a limit while others wait for theirs would lock limits in the order of a batch: those go alone.
      const limited = item.calls?.some(({ gate }) => gate?.permit ?? gate?.tokens);
      if (this.grouped && !limited) this.lanes.push(waiting);
      else void this.sendAlone(waiting);
    });
  }

  /** Everything on its way and all that comes later is refused here; the database's fence refuses it as well. */
  close(reason: Error): void {
    this.closedBy = reason;
    for (const waiting of this.lanes.takeBack()) waiting.reject(reason);
  }

  private async flush(waiting: readonly WaitingCommit[]): Promise<void> {
    const batch = this.oneOfEach(waiting);
    this.counts.batches += 1;
    const startedAt = performance.now();
    try {
      const { rows } = await this.pool.query<Answer>({ ...statement, values: [`[${batch.map((waiting) => waiting.bytes).join(',')}]`, true] });
      this.observer.sent('grouped', batch.length, performance.now() - startedAt);
      const answers = new Map(rows.map((row) => [row.o_id, row]));
      for (const waiting of batch) this.settle(waiting, answers.get(waiting.id));
    } catch {
      this.observer.sent('grouped', batch.length, null);
      // Lost, deadlocked, or one item's data was refused: each goes alone, and the one at fault gets its own error.
      for (const waiting of batch) void this.sendAlone(waiting);
    }
  }

  /** Work that came back to its node while an earlier fiber of it goes on has two writers: the answer to one is not the other's, so they share no statement. */
  private oneOfEach(batch: readonly WaitingCommit[]): readonly WaitingCommit[] {
    const first = new Map<string, WaitingCommit>();
    for (const waiting of batch) {
      if (first.has(waiting.id)) void this.sendAlone(waiting);
      else first.set(waiting.id, waiting);
    }
    return first.size === batch.length ? batch : [...first.values()];
  }

  private settle(waiting: WaitingCommit, answer: Answer | undefined): void {
    if (isAnswer(answer)) waiting.resolve(settledOf(answer));
    else void this.sendAlone(waiting);
  }

  private async sendAlone(waiting: WaitingCommit): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      if (this.closedBy) return waiting.reject(this.closedBy);
      this.counts.singles += 1;
      if (attempt > 0) this.counts.resent += 1;
      const path = attempt > 0 ? 'resent' : 'alone';
      const startedAt = performance.now();
      try {
        const { rows } = await this.pool.query<Answer>({ ...statement, values: [`[${waiting.bytes}]`, false] });
        this.observer.sent(path, 1, performance.now() - startedAt);
        const [answer] = rows;
        if (isAnswer(answer)) return waiting.resolve(settledOf(answer));
      } catch (error) {
        this.observer.sent(path, 1, null);
        if (isRefusedStatement(error)) return waiting.reject(error);
      }
      await delay(5 + Math.random() * Math.min(95, 20 * (attempt + 1)));
    }
  }
}
