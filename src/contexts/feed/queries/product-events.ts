import type { ProductEventType } from '@domain/feed/product-events.js';
import type { ReadTx } from '@engine/tx.js';

export type ProductEventRow = {
  readonly organization_id: string;
  readonly project_id: string;
  readonly sequence: number;
  readonly member_id: string;
  readonly type: ProductEventType;
  readonly aggregate_id: string;
  readonly aggregate_sequence: number;
  readonly data: { readonly workflow?: string; readonly category?: string; readonly error?: string };
  readonly created_at: Date;
};

/** A position is wider than an integer, and as a number exact for longer than any feed. */
export const productEventColumns = 'organization_id, project_id, position::float8 as sequence, member_id, type, aggregate_id, aggregate_sequence, data, created_at';

export type FeedPage = { readonly after: number; readonly type: ProductEventType | null; readonly limit: number };

/** A member's own part of the feed of the transaction's project. */
export const listProductEvents = (tx: ReadTx, memberId: string, { after, type, limit }: FeedPage): Promise<ProductEventRow[]> =>
  tx.query<ProductEventRow[]>(
    `select ${productEventColumns} from product_event
     where organization_id = tenant_organization() and project_id = tenant_project() and member_id = $1 and position > $2 and ($3::text is null or type = $3)
     order by position limit $4`,
    [memberId, after, type, limit],
  );

/** The last position of the feed of the transaction's project. */
export async function readFeedPosition(tx: ReadTx): Promise<number> {
  const [row] = await tx.query<{ position: number }[]>(
    `select position::float8 as position from feed_position where organization_id = tenant_organization() and project_id = tenant_project()`,
  );
  return row?.position ?? 0;
}
