import type { PermissionName } from '@domain/access/permissions.js';
import type { Rights } from '@domain/access/rights.js';
import { botRights, type BotAction, type BotRight } from '@domain/bots/bot.js';

export type AccessFacts = { readonly ownsBot: boolean; readonly granted: readonly BotRight[]; readonly permissions: Rights };

const all: readonly BotAction[] = [...botRights, 'share'];
const asked = { read: 'bots.read', delegate: 'bots.delegate', change: 'bots.change', share: 'bots.share' } as const satisfies Readonly<Record<BotAction, PermissionName>>;

/**
 * What a member may do with a bot: its owner, and who administers bots, all; anyone else what was granted, and then read. Nobody more than their
 * permissions let them do with any bot.
 */
export function botAccess({ ownsBot, granted, permissions }: AccessFacts): ReadonlySet<BotAction> {
  const open = ownsBot || permissions.has('bots.administer') ? all : granted.length > 0 ? (['read', ...granted] as const) : [];
  return new Set(permissions.has('bots.read') ? open.filter((action) => permissions.has(asked[action])) : []);
}
