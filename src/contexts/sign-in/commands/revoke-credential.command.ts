import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { fail, ok, type Result } from '@domain/result.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { StopWorkCommand } from '@contexts/organizations/public/stop-work.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { memberOf, whose, type CredentialsOf } from '../queries/credential-lists.js';
import { revokedEvent } from './credential-events.js';
import { revokeTree } from './revoke-tree.js';
import type { CredentialNotFound } from './rotate-credential.command.js';

/**
 * Ends a credential with all its secrets, maybe the one that asks, what was made with it, and the work that was begun with any of them. The rows stay:
 * work and receipts name them.
 */
export class RevokeCredentialCommand extends Command<Result<null, CredentialNotFound>> {
  constructor(
    readonly identity: Identity,
    readonly of: CredentialsOf,
    readonly credentialId: string,
  ) {
    super();
  }
}

@CommandHandler(RevokeCredentialCommand)
export class RevokeCredentialHandler implements ICommandHandler<RevokeCredentialCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, of, credentialId }: RevokeCredentialCommand): Promise<Result<null, CredentialNotFound>> {
    const ended = await transact<Result<readonly string[], CredentialNotFound>>(this.db, identity.context, async (tx) => {
      const revoked = await revokeTree(tx, `${whose(of)} and id = $2`, [memberOf(of), credentialId]);
      if (revoked.length === 0) return fail({ _tag: 'CredentialNotFound' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, ...revoked.map(revokedEvent)));
      return ok(await this.commands.execute(new StopWorkCommand(revoked, tx)));
    });
    if (!ended.ok) return ended;
    this.wake.publish(ended.value);
    return ok(null);
  }
}
