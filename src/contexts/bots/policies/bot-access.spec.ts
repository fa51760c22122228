import { rightsOf } from '@domain/access/rights.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { BotAction, BotRight } from '@domain/bots/bot.js';
import { botAccess } from './bot-access.js';

const rows: [string, { ownsBot: boolean; role: OrganizationRole; granted: BotRight[] }, BotAction[]][] = [
  ['a member without a grant may do nothing', { ownsBot: false, role: 'member', granted: [] }, []],
  ["the bot's owner may do all", { ownsBot: true, role: 'member', granted: [] }, ['change', 'delegate', 'read', 'share']],
  ["the organization's owner may do all", { ownsBot: false, role: 'owner', granted: [] }, ['change', 'delegate', 'read', 'share']],
  ['an admin may do all', { ownsBot: false, role: 'admin', granted: [] }, ['change', 'delegate', 'read', 'share']],
  ['read gives no more than read', { ownsBot: false, role: 'member', granted: ['read'] }, ['read']],
  ['delegate implies read', { ownsBot: false, role: 'member', granted: ['delegate'] }, ['delegate', 'read']],
  ['change implies read, and neither work nor sharing', { ownsBot: false, role: 'member', granted: ['change'] }, ['change', 'read']],
  ['no grant can take from an owner', { ownsBot: true, role: 'member', granted: ['read'] }, ['change', 'delegate', 'read', 'share']],
  ['a viewer reads what was granted, whatever was granted', { ownsBot: false, role: 'viewer', granted: ['change', 'delegate'] }, ['read']],
  ['a viewer keeps the sight of a bot of their own', { ownsBot: true, role: 'viewer', granted: [] }, ['read']],
  ['an auditor sees no bot', { ownsBot: true, role: 'auditor', granted: ['read'] }, []],
];

test.each(rows)('%s', (_rule, { role, ...facts }, expected) => {
  expect([...botAccess({ ...facts, permissions: rightsOf({ role, projectRole: null }) })].sort()).toEqual(expected);
});
