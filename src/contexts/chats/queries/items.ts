import type { ItemContent, ItemOrigin, NoticeOrigin } from '@domain/chats/items.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { ownChat } from './chats.js';
import type { TurnRow } from './turns.js';

export type ItemRow = {
  readonly id: string;
  readonly chat_id: string;
  readonly seq: number;
  readonly turn_id: string;
  readonly step: number;
  readonly input_id: string | null;
  readonly content: Buffer;
  readonly notice_kind: NoticeOrigin['kind'] | null;
  readonly notice_ref: string | null;
};

const columns = `item.id, item.chat_id, item.seq, item.turn_id, item.step, item.input_id, item.content, item.notice_kind, item.notice_ref`;

const bindingOf = (itemId: string) => ({ table: 'chat_item', record: itemId });
export const sealContent = (key: OrganizationKey, itemId: string, content: ItemContent): Buffer => key.seal(bindingOf(itemId), JSON.stringify(content));
export const openContent = (key: OrganizationKey, item: Pick<ItemRow, 'id' | 'content'>): ItemContent =>
  JSON.parse(key.open(bindingOf(item.id), item.content).toString('utf8')) as ItemContent;

/** Input is what the bot was given: a person's message or a notice. */
export const isInput = (item: Pick<ItemRow, 'input_id' | 'notice_kind'>): boolean => item.input_id !== null || item.notice_kind !== null;

export const originOf = (place: { readonly chatId: string; readonly turnId: string; readonly step: number; readonly notice: NoticeOrigin | null }): ItemOrigin => ({
  chat: toPublicId('chat', place.chatId),
  turn: toPublicId('turn', place.turnId),
  step: place.step,
  notice: place.notice,
});

/** Everything that a model reads, in order. The work that reads it was admitted under the chat's rights. */
export const readHistory = (tx: ReadTx, chatId: string): Promise<ItemRow[]> =>
  tx.query<ItemRow[]>(`select ${columns} from chat_item item where item.chat_id = $1 order by item.seq`, [chatId]);

/** One page, the newest first. The cursor is an item. */
export const listItems = (tx: ReadTx, who: Identity, chatId: string, page: { readonly before: string | null; readonly limit: number }): Promise<ItemRow[]> =>
  tx.query<ItemRow[]>(
    `select ${columns} from chat_item item join chat on chat.id = item.chat_id
     where ${ownChat} and chat.id = $2 and ($3::uuid is null or item.seq < (select last.seq from chat_item last where last.id = $3 and last.chat_id = $2))
     order by item.seq desc limit $4`,
    [who.memberId, chatId, page.before, page.limit],
  );

/** One page of a turn, the oldest first. The caller has found the turn under the reader's rights. */
export const listTurnItems = (tx: ReadTx, turn: TurnRow, page: { readonly after: string | null; readonly limit: number }): Promise<ItemRow[]> =>
  tx.query<ItemRow[]>(
    `select ${columns} from chat_item item
     where item.chat_id = $1 and item.seq >= $2 and item.seq < $3 and ($4::uuid is null or item.seq > (select last.seq from chat_item last where last.id = $4 and last.chat_id = $1))
     order by item.seq limit $5`,
    [turn.chat_id, turn.first_seq, turn.first_seq + turn.item_count, page.after, page.limit],
  );

export type TurnItem = Pick<ItemRow, 'id' | 'turn_id' | 'input_id' | 'notice_kind'>;

/** The items of several turns by name, in order. A turn's items are neighbours, because only the advancing turn writes. */
export const listItemNames = (tx: ReadTx, turns: readonly TurnRow[]): Promise<TurnItem[]> =>
  tx.query<TurnItem[]>(
    `select item.id, item.turn_id, item.input_id, item.notice_kind
     from jsonb_to_recordset($1::jsonb) turn (chat_id uuid, first_seq int, item_count int)
       join chat_item item on item.chat_id = turn.chat_id and item.seq >= turn.first_seq and item.seq < turn.first_seq + turn.item_count
     order by item.chat_id, item.seq`,
    [JSON.stringify(turns.map(({ chat_id, first_seq, item_count }) => ({ chat_id, first_seq, item_count })))],
  );
