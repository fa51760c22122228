import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { fail, ok, type Result } from '@domain/result.js';
import type { LinkNotFound, SetUpFailure } from '@domain/sign-in/sign-in.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { FindMemberQuery, type Member } from '@contexts/organizations/public/member.queries.js';
import { NameMemberCommand } from '@contexts/organizations/public/name-member.command.js';
import { BeginSessionCommand } from '@contexts/sign-in/public/begin-session.command.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { LeaveSessionCommand } from '@contexts/sign-in/public/leave-session.command.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { read, transact } from '@platform/database/transact.js';
import type { ParsedToken } from '@platform/identity/credential-text.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';
import type { Visitor } from '@platform/identity/visitor.js';
import { preparePassword } from '../prepare-password.js';
import { PasswordHasher } from '../password-hasher.js';
import { findByLink, storePassword } from '../queries/account.js';

const missing: LinkNotFound = { _tag: 'LinkNotFound' };

/** Sets the password that a one-time link is for, and begins a session: sessions from before end. Of two uses at once one finds no link any more. */
export class SetUpAccountCommand extends Command<Result<BegunSession, SetUpFailure>> {
  constructor(
    readonly link: ParsedToken,
    readonly given: { readonly password: string; readonly name: string | undefined },
    readonly visitor: Visitor,
  ) {
    super();
  }
}

@CommandHandler(SetUpAccountCommand)
export class SetUpAccountHandler implements ICommandHandler<SetUpAccountCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly hasher: PasswordHasher,
  ) {}

  async execute({ link, given, visitor }: SetUpAccountCommand): Promise<Result<BegunSession, SetUpFailure>> {
    const context = { organizationId: link.organizationId, projectId: null };
    const owner = await read(this.db, context, (tx) => this.find(tx, link, ''));
    if (!owner) return fail(missing);
    const prepared = await preparePassword(this.db, this.queries, this.hasher, { context, given: given.password, field: 'password', email: owner.email });
    if (!prepared.ok) return prepared;

    const begun = await transact<Result<BegunSession, LinkNotFound>>(this.db, context, async (tx) => {
      // As a sign-in: a change of what the member is comes before it, or after it.
      await this.commands.execute(new LockMembersCommand(tx));
      const member = await this.find(tx, link, 'for no key update');
      if (!member) return fail(missing);
      await storePassword(tx, member.id, prepared.value);
      const who = { kind: 'member', memberId: member.id, credential: null, address: visitor.address } as const;
      const done = { target: member.id, detail: {} } as const;
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'setup.completed', ...done }, { action: 'password.set', ...done }));
      if (given.name !== undefined) await this.commands.execute(new NameMemberCommand(who, member.id, given.name, tx));
      await this.commands.execute(new EndSessionsCommand(tx, who, { memberId: member.id, reason: 'password' }));
      return ok(await this.commands.execute(new BeginSessionCommand(link.organizationId, member.id, visitor, 'setup', tx)));
    });
    if (begun.ok) await this.commands.execute(new LeaveSessionCommand(visitor.session));
    return begun;
  }

  /** A suspended member's link waits with them. */
  private async find(tx: ReadTx | Tx, link: ParsedToken, lock: Parameters<typeof findByLink>[2]): Promise<Member | null> {
    const memberId = await findByLink(tx, link, lock);
    const member = memberId && (await this.queries.execute(new FindMemberQuery({ organizationId: link.organizationId, projectId: null }, memberId, tx)));
    return member && !member.suspended ? member : null;
  }
}
