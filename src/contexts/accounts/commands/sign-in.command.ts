import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { normalPassword } from '@domain/sign-in/password.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { SignInFailure, SignInRefused } from '@domain/sign-in/sign-in.js';
import type { AuditEvent } from '@domain/audit/entry.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindOrganizationQuery } from '@contexts/organizations/public/find-organization.query.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { FindMemberQuery, FindPersonByEmailQuery } from '@contexts/organizations/public/member.queries.js';
import { BeginSessionCommand } from '@contexts/sign-in/public/begin-session.command.js';
import { CameFromQuery } from '@contexts/sign-in/public/came-from.query.js';
import { LeaveSessionCommand } from '@contexts/sign-in/public/leave-session.command.js';
import type { ReadTx } from '@engine/tx.js';
import { read, transact } from '@platform/database/transact.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';
import type { Visitor } from '@platform/identity/visitor.js';
import { isWeaker, PasswordHasher } from '../password-hasher.js';
import { findAccount, lockAccount, storePassword } from '../queries/account.js';
import { SignInAttempts, type Attempt } from '../sign-in-attempts.js';

export type Given = { readonly email: string; readonly password: string };
type Found = { readonly memberId: string; readonly passwordHash: string | null; readonly sourceIsKnown: boolean };

const refused: SignInRefused = { _tag: 'SignInRefused' };

function eventOf(target: string | null, failure: SignInFailure): AuditEvent<'sign_in.failed'> | AuditEvent<'sign_in.locked'> | null {
  if (failure._tag === 'SignInRefused') return { action: 'sign_in.failed', target, detail: { method: 'password', reason: 'refused' }, outcome: 'refused' };
  if (failure._tag === 'SignInLimited') return { action: 'sign_in.locked', target, detail: { method: 'password', retryAfterMs: failure.retryAfterMs }, outcome: 'refused' };
  return null;
}

/** Begins a session for whoever knows the password of a break-glass account. Whatever is wrong is one answer, after the same work. */
export class SignInCommand extends Command<Result<BegunSession, SignInFailure>> {
  constructor(
    readonly organizationId: string,
    readonly given: Given,
    readonly visitor: Visitor,
  ) {
    super();
  }
}

@CommandHandler(SignInCommand)
export class SignInHandler implements ICommandHandler<SignInCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly hasher: PasswordHasher,
    private readonly attempts: SignInAttempts,
  ) {}

  async execute({ organizationId, given, visitor }: SignInCommand): Promise<Result<BegunSession, SignInFailure>> {
    const found = await read(this.db, { organizationId, projectId: null }, (tx) => this.find(tx, organizationId, given.email, visitor.address));
    const attempt = { organizationId, email: given.email, address: visitor.address, sourceIsKnown: found?.sourceIsKnown ?? false };
    const begun = await this.begin(attempt, found, given, visitor);
    if (begun.ok) await this.commands.execute(new LeaveSessionCommand(visitor.session));
    else await this.tell(attempt, found?.memberId ?? null, begun.failure);
    return begun;
  }

  private async begin(attempt: Attempt, found: Found | null, given: Given, visitor: Visitor): Promise<Result<BegunSession, SignInFailure>> {
    const { organizationId } = attempt;
    const context = { organizationId, projectId: null };
    const counted = await this.attempts.take(attempt);
    if (!counted.ok) return counted;
    const password = normalPassword(given.password);
    const matches = await this.hasher.verify(found?.passwordHash ?? null, password);
    if (!matches.ok) return matches;
    if (!matches.value || !found?.passwordHash) return fail(refused);
    const { memberId, passwordHash } = found;
    const stronger = isWeaker(passwordHash) ? await this.hasher.hash(password) : null;

    return transact<Result<BegunSession, SignInRefused>>(this.db, context, async (tx) => {
      // A change of what the member is comes before this, or after it, and then ends this session too.
      await this.commands.execute(new LockMembersCommand(tx));
      const member = await this.queries.execute(new FindMemberQuery(context, memberId, tx));
      const account = await lockAccount(tx, memberId);
      // What was changed or taken while it was checked is not what was checked.
      if (!member || member.suspended || !account?.break_glass || account.password_hash !== passwordHash) return fail(refused);
      if (stronger?.ok) await storePassword(tx, memberId, stronger.value);
      return ok(await this.commands.execute(new BeginSessionCommand(organizationId, memberId, visitor, 'password', tx)));
    });
  }

  /** A refused attempt leaves an entry, whether there is such an account or not; in an organization that is none there is nobody to read it. */
  private async tell(attempt: Attempt, memberId: string | null, failure: SignInFailure): Promise<void> {
    const event = eventOf(memberId, failure);
    if (event === null || (event.action === 'sign_in.locked' && !(await this.attempts.isNews(attempt)))) return;
    await transact(this.db, { organizationId: attempt.organizationId, projectId: null }, async (tx) => {
      if (await this.queries.execute(new FindOrganizationQuery(tx))) await this.commands.execute(new RecordAuditCommand(tx, { kind: 'nobody', address: attempt.address }, event));
      return ok(null);
    });
  }

  /** The hash is null for whoever has no password, or may not use it. */
  private async find(tx: ReadTx, organizationId: string, email: string, address: string): Promise<Found | null> {
    const person = await this.queries.execute(new FindPersonByEmailQuery({ organizationId, projectId: null }, email, tx));
    if (!person) return null;
    const account = await findAccount(tx, person.id);
    const passwordHash = account?.break_glass && !person.suspended ? account.password_hash : null;
    return { memberId: person.id, passwordHash, sourceIsKnown: await this.queries.execute(new CameFromQuery(person.id, address, tx)) };
  }
}
