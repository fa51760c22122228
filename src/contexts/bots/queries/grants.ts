import type { BotNotFound, BotRight } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Asker } from '../public/load-bot.queries.js';
import { findReadableBot } from './bots.js';

export type Grant = { readonly memberId: string; readonly rights: readonly BotRight[] };
/** `revision` is the bot's. */
export type BotGrants = { readonly revision: number; readonly grants: readonly Grant[] };

/** For those who may share the bot; other readers learn that they may not. */
export async function readGrants(tx: ReadTx, asker: Asker, botId: string): Promise<Result<BotGrants, BotNotFound | Forbidden>> {
  const found = await findReadableBot(tx, asker, botId);
  if (!found) return fail({ _tag: 'BotNotFound' });
  if (!found.access.has('share')) return fail({ _tag: 'Forbidden' });
  return ok({ revision: found.bot.revision, grants: await listGrants(tx, botId) });
}

export async function listGrants(tx: ReadTx, botId: string): Promise<Grant[]> {
  const rows = await tx.query<{ member_id: string; rights: BotRight[] }[]>(
    `select member_id, rights from bot_grant
     where organization_id = tenant_organization() and project_id = tenant_project() and bot_id = $1 order by created_at, member_id`,
    [botId],
  );
  return rows.map(({ member_id, rights }) => ({ memberId: member_id, rights }));
}

/** Makes the grants of a locked bot exactly these; what stays keeps its place. */
export async function replaceGrants(tx: Tx, botId: string, grants: readonly Grant[]): Promise<void> {
  const wanted = JSON.stringify(grants.map(({ memberId, rights }) => ({ member_id: memberId, rights })));
  await tx.query(
    `delete from bot_grant where organization_id = tenant_organization() and project_id = tenant_project() and bot_id = $1
       and member_id not in (select member_id from jsonb_to_recordset($2::jsonb) as wanted (member_id uuid))`,
    [botId, wanted],
  );
  await tx.query(
    `insert into bot_grant (organization_id, project_id, bot_id, member_id, rights)
     select tenant_organization(), tenant_project(), $1, member_id, rights from jsonb_to_recordset($2::jsonb) as wanted (member_id uuid, rights text[])
     on conflict (organization_id, project_id, bot_id, member_id) do update set rights = excluded.rights`,
    [botId, wanted],
  );
}
