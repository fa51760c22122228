import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { normalPassword } from '@domain/sign-in/password.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { ChangePasswordFailure } from '@domain/sign-in/sign-in.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindMemberQuery } from '@contexts/organizations/public/member.queries.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { read, transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Visitor } from '@platform/identity/visitor.js';
import { PasswordHasher } from '../password-hasher.js';
import { preparePassword } from '../prepare-password.js';
import { findAccount, lockAccount, storePassword } from '../queries/account.js';
import { SignInAttempts } from '../sign-in-attempts.js';

/** Changes one's own password, and ends all sessions but the one that asks. Whoever found it open still needs the password before. */
export class ChangePasswordCommand extends Command<Result<null, ChangePasswordFailure>> {
  constructor(
    readonly identity: Identity,
    readonly given: { readonly current: string; readonly new: string },
    readonly visitor: Visitor,
  ) {
    super();
  }
}

@CommandHandler(ChangePasswordCommand)
export class ChangePasswordHandler implements ICommandHandler<ChangePasswordCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly hasher: PasswordHasher,
    private readonly attempts: SignInAttempts,
  ) {}

  async execute({ identity, given, visitor }: ChangePasswordCommand): Promise<Result<null, ChangePasswordFailure>> {
    const { context, memberId, tokenId } = identity;
    const [account, member] = await read(this.db, context, async (tx) => [await findAccount(tx, memberId), await this.queries.execute(new FindMemberQuery(context, memberId, tx))]);
    const before = account?.break_glass ? account.password_hash : null;
    if (!before || !member) return fail({ _tag: 'PasswordNotAllowed' });
    // They are in already: what is bound is how often they try from here.
    const attempt = { organizationId: context.organizationId, email: member.email ?? memberId, address: visitor.address, sourceIsKnown: true };
    const counted = await this.attempts.take(attempt);
    if (!counted.ok) return counted;
    const matches = await this.hasher.verify(before, normalPassword(given.current));
    if (!matches.ok) return matches;
    if (!matches.value) return fail({ _tag: 'PasswordWrong', field: 'current' });
    const prepared = await preparePassword(this.db, this.queries, this.hasher, { context, given: given.new, field: 'new', email: member.email });
    if (!prepared.ok) return prepared;

    return transact<Result<null, ChangePasswordFailure>>(this.db, context, async (tx) => {
      const locked = await lockAccount(tx, memberId);
      if (locked?.password_hash !== before) return fail({ _tag: 'PasswordWrong', field: 'current' });
      await storePassword(tx, memberId, prepared.value);
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'password.set', target: memberId, detail: {} }));
      await this.commands.execute(new EndSessionsCommand(tx, identity, { memberId, exceptId: tokenId, reason: 'password' }));
      return ok(null);
    });
  }
}
