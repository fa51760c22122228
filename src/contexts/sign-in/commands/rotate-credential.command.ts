import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { excessOfSecret } from '@domain/access/credentials.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { RotateCredentialFailure } from '@domain/sign-in/token.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { newToken } from '@platform/identity/credential-text.js';
import { memberOf, shownColumns, whose, type CredentialsOf, type ShownCredential } from '../queries/credential-lists.js';
import { lockGrantor } from '../queries/grantor.js';
import { permissionFor, tooWide } from './create-credential.command.js';
import { rotatedEvent } from './credential-events.js';
import { startOf, type MadeCredential } from './store-credential.js';

/** There is none with this id, or none that the caller may know of. */
export type CredentialNotFound = { readonly _tag: 'CredentialNotFound' };

/**
 * Gives a credential a new secret. The one before counts until the overlap ends, and one from before that no more. Everything else stays: a rotation
 * neither widens nor prolongs.
 */
export class RotateCredentialCommand extends Command<Result<MadeCredential, RotateCredentialFailure | CredentialNotFound>> {
  constructor(
    readonly identity: Identity,
    readonly of: CredentialsOf,
    readonly credentialId: string,
    readonly overlapMs: number,
  ) {
    super();
  }
}

type Rotated = Pick<ShownCredential, 'scopes' | 'projects' | 'created_by'> & { readonly expired: boolean };

@CommandHandler(RotateCredentialCommand)
export class RotateCredentialHandler implements ICommandHandler<RotateCredentialCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, of, credentialId, overlapMs }: RotateCredentialCommand): Promise<Result<MadeCredential, RotateCredentialFailure | CredentialNotFound>> {
    return transact(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, permissionFor(of, identity)));
      const grantor = await lockGrantor(tx, identity.tokenId);
      const row = await this.lock(tx, of, credentialId);
      if (!row || !grantor.counts) return fail({ _tag: 'CredentialNotFound' });
      if (row.created_by !== grantor.maker) return fail({ _tag: 'NotItsMaker' });
      const excess = excessOfSecret(grantor, row);
      if (excess) return fail(tooWide(excess));
      if (row.expired) return fail({ _tag: 'CredentialExpired' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, rotatedEvent(of, credentialId, overlapMs)));
      return ok(await this.renew(tx, of, credentialId, identity.context.organizationId, overlapMs));
    });
  }

  /** Two that rotate each other's credential wait in a ring: the database ends one, and it runs again. */
  private async lock(tx: Tx, of: CredentialsOf, id: string): Promise<Rotated | null> {
    const [row] = await tx.query<Rotated[]>(
      `select scopes, projects, created_by, coalesce(expires_at <= clock_timestamp(), false) as expired from credential where ${whose(of)} and id = $2 for no key update`,
      [memberOf(of), id],
    );
    return row ?? null;
  }

  private async renew(tx: Tx, of: CredentialsOf, id: string, organizationId: string, overlapMs: number): Promise<MadeCredential> {
    const { token: secret, prefix, hash } = newToken(organizationId, startOf(of));
    const [[shown]] = await tx.query<[ShownCredential[], number]>(
      `update credential set prefix = $3, hash = $4, rotated_at = clock_timestamp(),
         old_prefix = case when $5::bigint > 0 then prefix end, old_hash = case when $5::bigint > 0 then hash end,
         old_until = case when $5::bigint > 0 then clock_timestamp() + $5 * interval '1 millisecond' end
       where ${whose(of)} and id = $2 returning ${shownColumns}`,
      [memberOf(of), id, prefix, hash, overlapMs],
    );
    return { secret, shown: shown! };
  }
}
