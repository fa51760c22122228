import type { QueryBus } from '@nestjs/cqrs';
import type { BotForWork } from '@domain/bots/bot.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { PhaseRun } from '@engine/phase.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import { LoadBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { loadIdentityRecord } from '../queries/identity-record.js';
import type { TurnCursor } from './turn-cursor.js';

/** Why a turn may not go on, as its failure's category. */
export type AccessLost = { readonly _tag: 'identity_revoked' | 'bot_not_found' | 'forbidden' };

/**
 * The bot as it is now, for the one that the turn was admitted for, if both may still work. The token and the rights are asked anew before each
 * model step: what was taken away since is gone at once.
 */
export async function findAgent(tx: ReadTx, key: OrganizationKey, queries: QueryBus, run: PhaseRun<TurnCursor>, botId: string): Promise<Result<BotForWork, AccessLost>> {
  const { context, identityId } = run.execution;
  if (identityId === null) throw new Error('a turn without an identity');
  const { tokenId } = await loadIdentityRecord(tx, key, identityId);
  const identity = await queries.execute(new LoadIdentityQuery(context, tokenId, tx));
  if (!identity) return fail({ _tag: 'identity_revoked' });
  const bot = await queries.execute(new LoadBotForWorkQuery(context, identity, botId, tx));
  if (bot.ok) return ok(bot.value);
  return fail({ _tag: bot.failure._tag === 'Forbidden' ? 'forbidden' : 'bot_not_found' });
}
