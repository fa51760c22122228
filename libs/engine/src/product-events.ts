import type { ProductEventType } from '@domain/feed/product-events.js';
import type { Tx } from './tx.js';

/** Something that a project's feed tells of a member's doing: metadata alone, ids and counters, never content. */
export type ProductEvent = {
  /** The engine tells those of executions itself, in the statement of their cause. */
  readonly type: Exclude<ProductEventType, `execution.${string}`>;
  /** Who did it, and who may read of it. */
  readonly memberId: string;
  readonly aggregateId: string;
  /** The aggregate's own count of its changes, as its lock orders them. */
  readonly aggregateSequence: number;
};

/** Leaves the event in the inbox of the feed, in the transaction of its cause: it gets its position after the commit, or is gone with a rollback. */
export async function tellFeed(tx: Tx, { type, memberId, aggregateId, aggregateSequence }: ProductEvent): Promise<void> {
  await tx.query(
    `insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence)
     values (tenant_organization(), tenant_project(), $1, $2, $3, $4)`,
    [memberId, type, aggregateId, aggregateSequence],
  );
}
