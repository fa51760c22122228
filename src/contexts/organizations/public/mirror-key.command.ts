import { Command } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';

/** Makes the member by which an API key acts in a project, if it has none there yet. Any number at once make one. */
export class MirrorKeyCommand extends Command<void> {
  constructor(
    readonly context: TenantContext & { readonly projectId: string },
    readonly key: { readonly id: string; readonly name: string },
  ) {
    super();
  }
}
