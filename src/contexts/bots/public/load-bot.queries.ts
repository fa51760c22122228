import { Query } from '@nestjs/cqrs';
import type { BotForWork, BotNotFound } from '@domain/bots/bot.js';
import type { Rights } from '@domain/access/rights.js';
import type { Forbidden } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';

/** Who asks; an Identity is one. */
export type Asker = { readonly memberId: string; readonly permissions: Rights };

/**
 * The bot that a member may give work to. `BotNotFound` for one that they may not read, in whatever way it is not there; `Forbidden` when
 * they may read it without `delegate`. With `tx` it reads in the caller's transaction: load the organization's key before that is open.
 */
export class LoadBotForWorkQuery extends Query<Result<BotForWork, BotNotFound | Forbidden>> {
  constructor(
    readonly context: TenantContext,
    readonly asker: Asker,
    readonly botId: string,
    readonly tx?: ReadTx,
  ) {
    super();
  }
}

/** The same answer for a caller that needs no more of the bot than its use; it opens nothing that is sealed. */
export class CheckBotForWorkQuery extends Query<Result<null, BotNotFound | Forbidden>> {
  constructor(
    readonly context: TenantContext,
    readonly asker: Asker,
    readonly botId: string,
    readonly tx?: ReadTx,
  ) {
    super();
  }
}

/** The bot of work that was admitted before; no right is asked for here. `null` once it is deleted. */
export class LoadBotQuery extends Query<BotForWork | null> {
  constructor(
    readonly context: TenantContext,
    readonly botId: string,
    readonly tx?: ReadTx,
  ) {
    super();
  }
}
