import type { ItemContent } from '@domain/chats/items.js';
import { isResponse, shownContent } from '@domain/chats/shown-item.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import { isInput, listItemNames, listTurnItems, openContent } from './items.js';
import type { TurnRow } from './turns.js';

/** A turn with the names of its items; `inputs` are those that it was given. */
export type TurnDetails = { readonly turn: TurnRow; readonly items: readonly string[]; readonly inputs: readonly string[] };

export async function detailTurns(tx: ReadTx, turns: readonly TurnRow[]): Promise<TurnDetails[]> {
  const items = turns.length === 0 ? [] : await listItemNames(tx, turns);
  return turns.map((turn) => {
    const own = items.filter(({ turn_id }) => turn_id === turn.id);
    return { turn, items: own.map(({ id }) => id), inputs: own.filter(isInput).map(({ id }) => id) };
  });
}

/** What the bot wrote in a turn, as clients see it. */
export async function readOutput(tx: ReadTx, key: OrganizationKey, turn: TurnRow): Promise<ItemContent[]> {
  if (turn.item_count === 0) return [];
  const rows = await listTurnItems(tx, turn, { after: null, limit: turn.item_count });
  return rows
    .filter((row) => !isInput(row))
    .map((row) => openContent(key, row))
    .filter(isResponse)
    .map(shownContent);
}
