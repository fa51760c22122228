import { Command } from '@nestjs/cqrs';

/** Public ids, and a credential that counts. */
export type DevelopmentIdentity = { readonly organizationId: string; readonly projectId: string; readonly memberId: string; readonly botId: string; readonly token: string };

/**
 * Finds or makes the development organization, its project, member, default bot and a token. Any number of starts, also at once, share the
 * first four. `previousToken` is given back while it counts. Throws in production, where nobody may enter without signing in.
 */
export class ProvisionDevelopmentCommand extends Command<DevelopmentIdentity> {
  constructor(readonly previousToken: string | null) {
    super();
  }
}
