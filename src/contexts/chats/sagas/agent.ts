import { rightsWithin } from '@domain/access/execution-identity.js';
import type { QueryBus } from '@nestjs/cqrs';
import type { DataSource } from 'typeorm';
import type { BotForWork } from '@domain/bots/bot.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { PhaseRun } from '@engine/phase.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx } from '@engine/tx.js';
import { LoadBotForWorkQuery } from '@contexts/bots/public/load-bot.queries.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { read } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { loadIdentityRecord } from '../queries/identity-record.js';
import { openConversation, type Conversation } from './conversation.js';
import type { TurnCursor } from './turn-cursor.js';

/** Why a turn may not go on, as its failure's category. */
export type AccessLost = { readonly _tag: 'identity_revoked' | 'bot_not_found' | 'forbidden' };
/** What a step needs to begin: the chat, and the bot as it is now, if both bot and person may still work. */
export type OpenedTurn = { readonly talk: Conversation; readonly agent: Result<BotForWork, AccessLost> };

const keptAs = 'opened-turn';

/**
 * Looks at the chat and at the rights that the turn acts with, which are asked anew before each model step: what was taken away since is gone at
 * once. What one phase has just read serves the phase that directly follows it.
 */
export async function openTurn(db: DataSource, queries: QueryBus, key: OrganizationKey, run: PhaseRun<TurnCursor>): Promise<OpenedTurn> {
  const opened = run.kept.get(keptAs) as OpenedTurn | undefined;
  if (run.kept.delete(keptAs) && opened) return opened;
  return read(db, run.execution.context, async (tx) => {
    const [talk, identity] = await Promise.all([openConversation(tx, key, run), findIdentity(tx, queries, key, run)]);
    return { talk, agent: identity ? await findBot(tx, queries, identity, talk.botId) : fail({ _tag: 'identity_revoked' }) };
  });
}

/** For the phase that directly follows, if it is run by the same owner. */
export const keepOpened = (run: PhaseRun<TurnCursor>, opened: OpenedTurn): unknown => run.kept.set(keptAs, opened);

/** The person and the token as they are now; who they are was sealed when the turn was admitted. */
async function findIdentity(tx: ReadTx, queries: QueryBus, key: OrganizationKey, { execution }: PhaseRun<TurnCursor>): Promise<Identity | null> {
  if (execution.identityId === null) throw new Error('a turn without an identity');
  const { token, limits } = await loadIdentityRecord(tx, key, execution.identityId);
  const identity = await queries.execute(new LoadIdentityQuery(execution.context, token, tx, 'work'));
  return identity && { ...identity, permissions: rightsWithin(identity.permissions, limits) };
}

async function findBot(tx: ReadTx, queries: QueryBus, identity: Identity, botId: string): Promise<Result<BotForWork, AccessLost>> {
  const bot = await queries.execute(new LoadBotForWorkQuery(identity.context, identity, botId, tx));
  if (bot.ok) return ok(bot.value);
  return fail({ _tag: bot.failure._tag === 'Forbidden' ? 'forbidden' : 'bot_not_found' });
}
