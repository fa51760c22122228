import type { ModelSelection } from '@domain/models/catalog.js';
import type { OrganizationKey } from '@engine/sealing.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { BotReceipt } from '../commands/create-bot.command.js';
import { openInstructions, type ReadableBot } from '../queries/bots.js';
import type { BotReceiptView, BotView, ListedBotView, ModelSelectionBody } from './bots.dto.js';

export const toReceiptView = ({ botId, revision }: BotReceipt): BotReceiptView => ({ id: toPublicId('bot', botId), revision });

export const toListedBotView = ({ bot, access }: ReadableBot): ListedBotView => ({
  id: toPublicId('bot', bot.id),
  revision: bot.revision,
  name: bot.name,
  owner: toPublicId('member', bot.owner_id),
  model: bot.model,
  maxSteps: bot.max_steps,
  access: [...access],
  createdAt: bot.created_at.getTime(),
  updatedAt: bot.updated_at.getTime(),
});

export const toBotView = (key: OrganizationKey, readable: ReadableBot): BotView => ({ ...toListedBotView(readable), instructions: openInstructions(key, readable.bot) });

/** One form for each choice: an option that was not given is not a member of it. */
export const toSelection = ({ provider, model, reasoningEffort }: ModelSelectionBody): ModelSelection => ({
  _tag: 'Config.Selection',
  provider,
  model,
  ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
});
