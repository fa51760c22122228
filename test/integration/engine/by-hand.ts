import type { Pool } from 'pg';
import { claimText } from '@engine/claimer.js';
import type { CommitItem, CommitOutcome } from '@engine/commit-item.js';
import { toClaimed, type ClaimRow, type Head } from '@engine/head.js';

export type Queryable = Pick<Pool, 'query'>;
export type Answer = { readonly outcome: CommitOutcome | 'busy'; readonly sequence: number | null };

/** Takes a node's place: its row, as its liveness would keep it. */
export async function joinAs(worker: Queryable, node: string): Promise<string> {
  const { rows } = await worker.query('insert into node (name, epoch) values ($1, 1) on conflict (name) do update set epoch = node.epoch + 1 returning epoch', [node]);
  return (rows as { epoch: string }[])[0]!.epoch;
}

/** Claims by the engine's own statement, as a node would that then does nothing by itself. */
export async function claimAs(worker: Queryable, node: string, epoch: string, workflow: string, limit = 100): Promise<Head[]> {
  const { rows } = await worker.query(claimText, [[`${workflow}:1`], node, epoch, limit, false]);
  return (rows as { claim: ClaimRow }[]).map(({ claim }) => toClaimed(claim, epoch).head);
}

export async function releaseAll(worker: Queryable, node: string, epoch: string, cost = 1): Promise<number> {
  return (await worker.query('select release_executions($1, $2, $3::uuid[], $4)', [node, epoch, [], cost])).rowCount ?? 0;
}

/** The next commit of this head, as its writer would freeze it. */
export const itemOf = (head: Head, change: Partial<CommitItem> = {}): CommitItem => ({
  id: head.id,
  g: head.generation,
  owner: head.owner,
  epoch: head.epoch,
  claim: head.claimId,
  n: head.commitNumber + 1,
  from: [head.state],
  to: head.state,
  do: 'keep',
  events: [],
  cancel: head.cancelNumber,
  ...change,
});

export async function commitBatch(worker: Queryable, items: readonly CommitItem[], skip = false): Promise<Map<string, Answer>> {
  const { rows } = await worker.query('select o_id as id, o_outcome as outcome, o_sequence as sequence from commit_batch($1::jsonb, $2)', [JSON.stringify(items), skip]);
  return new Map((rows as (Answer & { id: string })[]).map(({ id, ...answer }) => [id, answer]));
}

/** One commit alone; answers its outcome. */
export async function commitAlone(worker: Queryable, item: CommitItem): Promise<Answer['outcome'] | undefined> {
  return (await commitBatch(worker, [item])).get(item.id)?.outcome;
}
