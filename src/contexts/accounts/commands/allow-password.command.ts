import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { mayAppoint } from '@domain/access/rights.js';
import type { Forbidden, MemberNotFound } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { setupLinkLife, type AddressMissing, type OwnWayIn } from '@domain/sign-in/sign-in.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { FindMemberQuery } from '@contexts/organizations/public/member.queries.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import type { Identity } from '@platform/identity/identity.js';
import { closeAccount, lockAccount, storeLink } from '../queries/account.js';

export type AllowPasswordFailure = Forbidden | MemberNotFound | AddressMissing | OwnWayIn;
/** `link`: the text that sets a first password, for whoever may have one and has none. */
export type AllowedPassword = { readonly allowed: boolean; readonly link: string | null };

/** Says whether a member may sign in with a password. Owners alone say it; who may not any more is out. */
export class AllowPasswordCommand extends Command<Result<AllowedPassword, AllowPasswordFailure>> {
  constructor(
    readonly identity: Identity,
    readonly memberId: string,
    readonly allowed: boolean,
  ) {
    super();
  }
}

@CommandHandler(AllowPasswordCommand)
export class AllowPasswordHandler implements ICommandHandler<AllowPasswordCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, memberId, allowed }: AllowPasswordCommand): Promise<Result<AllowedPassword, AllowPasswordFailure>> {
    const { context } = identity;
    return transact<Result<AllowedPassword, AllowPasswordFailure>>(this.db, context, async (tx) => {
      const { permissions } = await this.commands.execute(new LockRightsCommand(tx, identity, 'members.manage'));
      const member = await this.queries.execute(new FindMemberQuery(context, memberId, tx));
      if (!member) return fail({ _tag: 'MemberNotFound' });
      if (!mayAppoint(permissions, 'owner')) return fail({ _tag: 'Forbidden' });
      if (!allowed) {
        // Their session ends with it: who holds no token would be out, and the last owner for good.
        if (memberId === identity.memberId && identity.credential === 'session') return fail({ _tag: 'OwnWayIn' });
        await closeAccount(tx, memberId);
        await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'password_sign_in.denied', target: memberId, detail: {} }));
        await this.commands.execute(new EndSessionsCommand(tx, identity, { memberId, reason: 'password' }));
        return ok({ allowed, link: null });
      }
      // Service accounts have none.
      if (member.email === null) return fail({ _tag: 'AddressMissing' });
      const account = await lockAccount(tx, memberId);
      if (account?.password_hash) return ok({ allowed, link: null });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'password_sign_in.allowed', target: memberId, detail: {} }));
      const { token: link, ...stored } = newToken(context.organizationId, 'obl_');
      await storeLink(tx, memberId, { ...stored, lifeMs: setupLinkLife });
      return ok({ allowed, link });
    });
  }
}
