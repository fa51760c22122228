import type { DataSource } from 'typeorm';
import { LogHub } from '@engine/reading/event-hub.js';
import type { LogEntry, LogKind } from '@engine/reading/log-kind.js';
import { rowsOf } from '@engine/reading/read-rows.js';
import type { WakeChannel } from '@engine/wake-channel.js';
import { toProductEventView, type ProductEventView } from './product-event.view.js';
import { productEventColumns, type ProductEventRow } from './product-events.js';

/** `memberId`: who may read it. */
export type FeedEntry = LogEntry & { readonly memberId: string; readonly view: ProductEventView };

/** The feeds of projects, each named by its project. They hold no secret and never end. */
const feeds: LogKind<ProductEventRow, FeedEntry> = {
  idOf: (row) => row.project_id,
  bytesOf: () => 0,
  openerOf: () => (row) => {
    const view = toProductEventView(row);
    return { sequence: row.sequence, memberId: row.member_id, view, json: JSON.stringify(view) };
  },
  ends: () => false,
};

export class FeedHub extends LogHub<ProductEventRow, FeedEntry> {}

const source = { columns: productEventColumns, from: 'read_feed($1::jsonb)', key: 'member_id' };

export const openFeedHub = (db: DataSource, wake: WakeChannel): FeedHub => new FeedHub(rowsOf(db, source), feeds, wake);
