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

const position = `select position::float8 as position from feed_position where organization_id = tenant_organization() and project_id = tenant_project()`;

/** The last position of the feed of the transaction's project. */
export async function readFeedPosition(tx: ReadTx): Promise<number> {
  const [row] = await tx.query<{ position: number }[]>(position);
  return row?.position ?? 0;
}

/** The same, and the history of the database that it is of: a feed is followed in that one. */
export async function readFeedHead(tx: ReadTx): Promise<{ readonly position: number; readonly timeline: string | null }> {
  const [row] = await tx.query<{ position: number; timeline: string | null }[]>(`select coalesce((${position}), 0) as position, database_timeline() as timeline`);
  return { position: row?.position ?? 0, timeline: row?.timeline ?? null };
}
