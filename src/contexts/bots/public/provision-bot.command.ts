import { Command } from '@nestjs/cqrs';
import type { ModelSelection } from '@domain/models/catalog.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { Tx } from '@engine/tx.js';

/**
 * Finds or makes the bot that a member starts with, and returns its id: `current` while it is there, else the one made before, else a new
 * one. Its model follows `model`, the environment's, until a person chooses one. The caller's transaction orders two at once.
 */
export class ProvisionBotCommand extends Command<string> {
  constructor(
    readonly context: TenantContext & { readonly projectId: string },
    readonly ownerId: string,
    readonly current: string | null,
    readonly model: ModelSelection | null,
    readonly tx: Tx,
  ) {
    super();
  }
}
