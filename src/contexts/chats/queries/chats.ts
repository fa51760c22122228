import type { ChatKind, ChatMode, ChatSettings } from '@domain/chats/chat.js';
import type { ModelSelection } from '@domain/models/catalog.js';
import { tellFeed } from '@engine/product-events.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

export type ChatRow = {
  readonly id: string;
  readonly kind: ChatKind;
  readonly bot_id: string;
  readonly owner_id: string;
  readonly revision: number;
  readonly item_count: number;
  readonly input_count: number;
  readonly turn_count: number;
  readonly running_turn_id: string | null;
  readonly mode: ChatMode;
  readonly model: ModelSelection | null;
  readonly todos: Buffer | null;
  readonly todos_version: number;
  readonly created_at: Date;
};

export const chatColumns = `chat.id, chat.kind, chat.bot_id, chat.owner_id, chat.revision, chat.item_count, chat.input_count, chat.turn_count, chat.running_turn_id,
  chat.mode, chat.model, chat.todos, chat.todos_version, chat.created_at`;

/** The chats of asker $1. A foreign chat, a deleted one and one that never was are the same: no row. */
export const ownChat = `chat.organization_id = tenant_organization() and chat.project_id = tenant_project() and chat.owner_id = $1 and chat.deleted_at is null`;

export const settingsOf = ({ mode, model }: Pick<ChatRow, 'mode' | 'model'>): ChatSettings => (model ? { mode, model } : { mode });

export async function findOwnChat(tx: ReadTx, who: Identity, chatId: string): Promise<ChatRow | null> {
  const [row] = await tx.query<ChatRow[]>(`select ${chatColumns} from chat where ${ownChat} and chat.id = $2`, [who.memberId, chatId]);
  return row ?? null;
}

/** Holds the row that orders everything in the chat. Rights are part of the WHERE clause. */
export async function lockOwnChat(tx: Tx, who: Identity, chatId: string): Promise<ChatRow | null> {
  const [row] = await tx.query<ChatRow[]>(`select ${chatColumns} from chat where ${ownChat} and chat.id = $2 for no key update`, [who.memberId, chatId]);
  return row ?? null;
}

const lockDirect = async (tx: Tx, who: Identity, botId: string): Promise<ChatRow | null> => {
  const [row] = await tx.query<ChatRow[]>(`select ${chatColumns} from chat where ${ownChat} and chat.bot_id = $2 and chat.kind = 'direct' for no key update`, [
    who.memberId,
    botId,
  ]);
  return row ?? null;
};

/**
 * The member's one direct chat with the bot, locked; the first message makes it. Of two first messages at once, the second waits for the first one's
 * insert and then finds its row, in a statement that is newer than that commit.
 */
export async function lockDirectChat(tx: Tx, who: Identity, botId: string, newId: string): Promise<ChatRow> {
  const found = await lockDirect(tx, who, botId);
  if (found) return found;
  const inserted = await tx.query<unknown[]>(
    `insert into chat (organization_id, project_id, id, kind, bot_id, owner_id) values ($1, $2, $3, 'direct', $4, $5)
     on conflict (organization_id, project_id, bot_id, owner_id) where kind = 'direct' and deleted_at is null do nothing returning 1`,
    [who.context.organizationId, who.context.projectId, newId, botId, who.memberId],
  );
  const made = await lockDirect(tx, who, botId);
  if (!made) throw new Error('a direct chat vanished while it was made');
  if (inserted.length > 0) await tellFeed(tx, { type: 'chat.created', memberId: who.memberId, aggregateId: made.id, aggregateSequence: made.revision });
  return made;
}
