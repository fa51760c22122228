import { botRights, type BotAction, type BotRight } from '@domain/bots/bot.js';
import type { MemberRole } from '@domain/organizations/member.js';

export type AccessFacts = { readonly ownsBot: boolean; readonly role: MemberRole; readonly granted: readonly BotRight[] };

const all: ReadonlySet<BotAction> = new Set([...botRights, 'share'] as const);
const none: ReadonlySet<BotAction> = new Set();

/** What a member may do with a bot. The bot's owner and the organization's owners may do all; anyone else what was granted, and then read. */
export function botAccess({ ownsBot, role, granted }: AccessFacts): ReadonlySet<BotAction> {
  if (ownsBot || role === 'owner') return all;
  return granted.length > 0 ? new Set<BotAction>(['read', ...granted]) : none;
}
