import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import type { Identity } from '@platform/identity/identity.js';
import { RightLost } from '@platform/identity/right-lost.js';
import { LockMembersCommand } from '../public/lock-members.command.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import { lockOrganization } from '../queries/organization.js';

@CommandHandler(LockMembersCommand)
export class LockMembersHandler implements ICommandHandler<LockMembersCommand> {
  async execute({ tx }: LockMembersCommand): Promise<null> {
    await lockOrganization(tx);
    return null;
  }
}

@CommandHandler(LockRightsCommand)
export class LockRightsHandler implements ICommandHandler<LockRightsCommand> {
  constructor(private readonly queries: QueryBus) {}

  async execute({ tx, identity: { context, tokenId }, permission }: LockRightsCommand): Promise<Identity> {
    await lockOrganization(tx);
    const now = await this.queries.execute(new LoadIdentityQuery(context, tokenId, tx));
    if (!now?.permissions.has(permission)) throw new RightLost(now ? permission : null);
    return now;
  }
}
