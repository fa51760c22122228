import type { BotAction, BotRight } from '@domain/bots/bot.js';
import type { ModelSelection } from '@domain/models/catalog.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { botAccess } from '../policies/bot-access.js';
import type { Asker } from '../public/load-bot.queries.js';

export type BotRow = {
  readonly id: string;
  readonly owner_id: string;
  readonly name: string;
  readonly instructions: Buffer | null;
  readonly model: ModelSelection | null;
  readonly model_follows_environment: boolean;
  readonly max_steps: number;
  readonly revision: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};

type GrantedRow = BotRow & { readonly granted: BotRight[] | null };
/** A row that its asker may read, and what else they may do with it. */
export type ReadableBot = { readonly bot: BotRow; readonly access: ReadonlySet<BotAction> };

const columns = `bot.id, bot.owner_id, bot.name, bot.instructions, bot.model, bot.model_follows_environment, bot.max_steps, bot.revision, bot.created_at, bot.updated_at`;

/** The bots that asker $1 may read; $2: every bot of the project. A locked bot's grants are read before the lock was had: see `lockReadableBot`. */
const readable = `
  select ${columns}, mine.rights as granted
  from bot left join bot_grant mine
    on mine.organization_id = bot.organization_id and mine.project_id = bot.project_id and mine.bot_id = bot.id and mine.member_id = $1
  where bot.organization_id = tenant_organization() and bot.project_id = tenant_project() and bot.deleted_at is null
    and ($2::boolean or bot.owner_id = $1 or mine.member_id is not null)`;

const readsEvery = ({ permissions }: Asker): boolean => permissions.has('bots.administer');

const withAccess = ({ granted, ...bot }: GrantedRow, asker: Asker): ReadableBot => ({
  bot,
  access: botAccess({ ownsBot: bot.owner_id === asker.memberId, granted: granted ?? [], permissions: asker.permissions }),
});

export async function findReadableBot(tx: ReadTx, asker: Asker, botId: string): Promise<ReadableBot | null> {
  const [row] = await tx.query<GrantedRow[]>(`${readable} and bot.id = $3`, [asker.memberId, readsEvery(asker), botId]);
  return row ? withAccess(row, asker) : null;
}

/** Locks first and reads in a statement of its own: what a change waited for, a grant among it, is then seen. */
export async function lockReadableBot(tx: Tx, asker: Asker, botId: string): Promise<ReadableBot | null> {
  await tx.query(`select 1 from bot where organization_id = tenant_organization() and project_id = tenant_project() and id = $1 for no key update`, [botId]);
  return findReadableBot(tx, asker, botId);
}

/** One page, oldest first. The cursor is an id: a Date would lose the microseconds and repeat rows. */
export async function listReadableBots(tx: ReadTx, asker: Asker, page: { readonly after: string | null; readonly limit: number }): Promise<ReadableBot[]> {
  const rows = await tx.query<GrantedRow[]>(
    `${readable}
       and ($3::uuid is null or (bot.created_at, bot.id) > (
         select last.created_at, last.id from bot last where last.organization_id = tenant_organization() and last.project_id = tenant_project() and last.id = $3))
     order by bot.created_at, bot.id limit $4`,
    [asker.memberId, readsEvery(asker), page.after, page.limit],
  );
  return rows.map((row) => withAccess(row, asker));
}

/** For work that was admitted under a right before, and for the bot that the program itself keeps. */
export async function findBot(tx: ReadTx, botId: string): Promise<BotRow | null> {
  const [row] = await tx.query<BotRow[]>(
    `select ${columns} from bot where organization_id = tenant_organization() and project_id = tenant_project() and deleted_at is null and id = $1`,
    [botId],
  );
  return row ?? null;
}

/** The member's earliest bot whose model still is the environment's. */
export async function findProvisionedBot(tx: ReadTx, ownerId: string): Promise<BotRow | null> {
  const [row] = await tx.query<BotRow[]>(
    `select ${columns} from bot
     where organization_id = tenant_organization() and project_id = tenant_project() and deleted_at is null and owner_id = $1 and model_follows_environment
     order by created_at, id limit 1`,
    [ownerId],
  );
  return row ?? null;
}

const bindingOf = (botId: string) => ({ table: 'bot', record: botId });

/** No instructions are stored as none, so that an empty text needs no key to be read. */
export const sealInstructions = (key: OrganizationKey, botId: string, instructions: string): Buffer | null =>
  instructions === '' ? null : key.seal(bindingOf(botId), instructions);

export const openInstructions = (key: OrganizationKey, bot: Pick<BotRow, 'id' | 'instructions'>): string =>
  bot.instructions === null ? '' : key.open(bindingOf(bot.id), bot.instructions).toString('utf8');
