import { aggregateKindOf, type ProductEventType } from '@domain/feed/product-events.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ProductEventRow } from './product-events.js';

export type ProductEventView = {
  readonly position: number;
  readonly at: number;
  readonly type: ProductEventType;
  readonly about: string;
  readonly sequence: number;
  readonly workflow: string | null;
  readonly failure: { readonly category: string; readonly errorId: string | null } | null;
};

export const toProductEventView = ({ sequence, created_at, type, aggregate_id, aggregate_sequence, data }: ProductEventRow): ProductEventView => ({
  position: sequence,
  at: created_at.getTime(),
  type,
  about: toPublicId(aggregateKindOf(type), aggregate_id),
  sequence: aggregate_sequence,
  workflow: data.workflow ?? null,
  failure: data.category === undefined ? null : { category: data.category, errorId: data.error === undefined ? null : toPublicId('error', data.error) },
});
