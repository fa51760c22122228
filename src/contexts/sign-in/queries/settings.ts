import type { QueryBus } from '@nestjs/cqrs';
import { CheckBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

export type Settings = { readonly version: number; readonly defaultBot: string | null };
export type SettingsRow = { readonly version: number; readonly default_bot_id: string | null };

export async function loadSettings(tx: ReadTx, memberId: string): Promise<SettingsRow> {
  const [row] = await tx.query<SettingsRow[]>(`select version, default_bot_id from member_setting where organization_id = tenant_organization() and member_id = $1`, [memberId]);
  return row ?? { version: 0, default_bot_id: null };
}

/** Makes the row when it is not there, so that two first changes at once meet at it. */
export async function lockSettings(tx: Tx, memberId: string): Promise<SettingsRow> {
  await tx.query(`insert into member_setting (organization_id, member_id) values (tenant_organization(), $1) on conflict do nothing`, [memberId]);
  const [row] = await tx.query<SettingsRow[]>(
    `select version, default_bot_id from member_setting where organization_id = tenant_organization() and member_id = $1 for no key update`,
    [memberId],
  );
  if (!row) throw new Error('the settings row vanished inside its transaction');
  return row;
}

/** What is shown: a default bot that this credential may not give work to, or that is deleted, is none. */
export async function showSettings(tx: ReadTx, queries: QueryBus, identity: Identity, { version, default_bot_id: botId }: SettingsRow): Promise<Settings> {
  const usable = botId !== null && (await queries.execute(new CheckBotForWorkQuery(identity.context, identity, botId, tx))).ok;
  return { version, defaultBot: usable ? botId : null };
}

/** Returns the new version. The row is locked. */
export async function storeDefaultBot(tx: Tx, memberId: string, settings: SettingsRow, botId: string | null): Promise<number> {
  await tx.query(`update member_setting set version = $2, default_bot_id = $3 where organization_id = tenant_organization() and member_id = $1`, [
    memberId,
    settings.version + 1,
    botId,
  ]);
  return settings.version + 1;
}
