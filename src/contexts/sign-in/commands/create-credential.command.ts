import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { excessOf, type Excess } from '@domain/access/credentials.js';
import type { PermissionName } from '@domain/access/permissions.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { CreateCredentialFailure, CredentialTooWide } from '@domain/sign-in/token.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { memberOf, type CredentialsOf } from '../queries/credential-lists.js';
import { findMissingProject, findReach, lockGrantor } from '../queries/grantor.js';
import { createdEvent } from './credential-events.js';
import { storeCredential, type MadeCredential, type WantedCredential } from './store-credential.js';

/** Makes a credential for oneself, for a service account or for the organization. It never may do more than the one that asks, nor than who answers for that one. */
export class CreateCredentialCommand extends Command<Result<MadeCredential, CreateCredentialFailure>> {
  constructor(
    readonly identity: Identity,
    readonly of: CredentialsOf,
    readonly wanted: WantedCredential,
  ) {
    super();
  }
}

/** What it takes to make or renew one of these. */
export const permissionFor = (of: CredentialsOf, { memberId }: Identity): PermissionName => (memberOf(of) === memberId ? 'tokens.create' : 'keys.manage');

/** Its fields are shown: public ids. */
export const tooWide = ({ scopes, projects, allProjects }: Excess): CredentialTooWide => ({
  _tag: 'CredentialTooWide',
  scopes,
  projects: projects.map((id) => toPublicId('project', id)),
  allProjects,
});

@CommandHandler(CreateCredentialCommand)
export class CreateCredentialHandler implements ICommandHandler<CreateCredentialCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, of, wanted }: CreateCredentialCommand): Promise<Result<MadeCredential, CreateCredentialFailure>> {
    const { context, tokenId } = identity;
    return transact(this.db, context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, permissionFor(of, identity)));
      const grantor = await lockGrantor(tx, tokenId);
      if (wanted.projects !== null && (await findMissingProject(tx, wanted.projects)) !== null) return fail({ _tag: 'ProjectNotFound' });
      // One that was revoked a moment ago has nothing left to give.
      const held = grantor.counts ? grantor : { scopes: [], projects: [] };
      const excess = excessOf(held, await findReach(tx, tokenId), wanted);
      if (excess) return fail(tooWide(excess));
      const made = await storeCredential(tx, context.organizationId, of, grantor, wanted);
      await this.commands.execute(new RecordAuditCommand(tx, identity, createdEvent(of, made.shown.id, wanted)));
      return ok(made);
    });
  }
}
