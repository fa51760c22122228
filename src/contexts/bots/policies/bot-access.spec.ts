import type { BotAction, BotRight } from '@domain/bots/bot.js';
import type { MemberRole } from '@domain/organizations/member.js';
import { botAccess } from './bot-access.js';

const rows: [string, { ownsBot: boolean; role: MemberRole; granted: BotRight[] }, BotAction[]][] = [
  ['a member without a grant may do nothing', { ownsBot: false, role: 'member', granted: [] }, []],
  ["the bot's owner may do all", { ownsBot: true, role: 'member', granted: [] }, ['change', 'delegate', 'read', 'share']],
  ["the organization's owner may do all", { ownsBot: false, role: 'owner', granted: [] }, ['change', 'delegate', 'read', 'share']],
  ['read gives no more than read', { ownsBot: false, role: 'member', granted: ['read'] }, ['read']],
  ['delegate implies read', { ownsBot: false, role: 'member', granted: ['delegate'] }, ['delegate', 'read']],
  ['change implies read, and neither work nor sharing', { ownsBot: false, role: 'member', granted: ['change'] }, ['change', 'read']],
  ['no grant can take from an owner', { ownsBot: true, role: 'member', granted: ['read'] }, ['change', 'delegate', 'read', 'share']],
];

test.each(rows)('%s', (_rule, facts, expected) => {
  expect([...botAccess(facts)].sort()).toEqual(expected);
});
