import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { admit, type Admitted, type AdmissionRefused, type Assertion, type Known } from '@domain/identity-providers/admission.js';
import { domainOf } from '@domain/identity-providers/domain-name.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { AdmitVouchedCommand } from '@contexts/organizations/public/admit-vouched.command.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { FindMemberQuery, FindPersonByEmailQuery } from '@contexts/organizations/public/member.queries.js';
import { SetVouchedRoleCommand } from '@contexts/organizations/public/set-vouched-role.command.js';
import { DirectoryGroupsQuery } from '@contexts/provisioning/public/directory-groups.query.js';
import { BeginSessionCommand } from '@contexts/sign-in/public/begin-session.command.js';
import { LeaveSessionCommand } from '@contexts/sign-in/public/leave-session.command.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { read, transact } from '@platform/database/transact.js';
import { provesToken, type ParsedToken } from '@platform/identity/credential-text.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';
import type { Visitor } from '@platform/identity/visitor.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { attemptBinding, sessionBinding } from '../policies/bindings.js';
import { openProvider } from '../policies/open-provider.js';
import type { SignInFailed } from '../policies/sign-in-failed.js';
import { OidcProtocol } from '../protocols/oidc.js';
import type { Arrival } from '../protocols/sign-in-protocol.js';
import { findAttempt, markUsed, type AttemptRow } from '../queries/attempts.js';
import { isVerifiedFor } from '../queries/domains.js';
import { findIdentity, findIdentityOf, linkIdentity, markIdentityUsed } from '../queries/identities.js';
import { insertProviderSession } from '../queries/provider-sessions.js';
import { findEnabledProvider, type ProviderWithSecret } from '../queries/providers.js';

export type Return = {
  readonly state: ParsedToken;
  readonly stateText: string;
  readonly providerId: string;
  readonly callbackUrl: string;
  readonly answer: URL;
  readonly browser: Buffer | null;
};
export type SignedIn = { readonly session: BegunSession; readonly returnTo: string };

type Link = { readonly providerId: string; readonly subject: string; readonly memberId: string };

const failed = (reason: SignInFailed['reason']): Result<never, SignInFailed> => fail({ _tag: 'SignInFailed', reason });

/** Believes what a browser brings back from a provider, or not, and begins a session for whoever that is here. An attempt counts once; an answer that is not believed leaves it as it was. */
export class FinishSignInCommand extends Command<Result<SignedIn, SignInFailed>> {
  constructor(
    readonly came: Return,
    readonly visitor: Visitor,
  ) {
    super();
  }
}

@CommandHandler(FinishSignInCommand)
export class FinishSignInHandler implements ICommandHandler<FinishSignInCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly oidc: OidcProtocol,
  ) {}

  async execute({ came, visitor }: FinishSignInCommand): Promise<Result<SignedIn, SignInFailed>> {
    const { organizationId } = came.state;
    const context = { organizationId, projectId: null };
    const [attempt, row] = await read(this.db, context, async (tx) => [await findAttempt(tx, came.state), await findEnabledProvider(tx, came.providerId)] as const);
    const judged = judgeAttempt(attempt, came);
    if (!judged.ok) return judged;
    if (!row) return failed('provider_missing');
    const key = await this.sealer.keyOf(organizationId);
    const kept = key.open(attemptBinding(judged.value.id), judged.value.sealed).toString('utf8');
    const arrived = await this.oidc.finish(openProvider(row, key), { state: came.stateText, callbackUrl: came.callbackUrl }, kept, came.answer);
    const finished = arrived.ok ? await this.enter(came, visitor, row, arrived.value) : fail({ ...arrived.failure, _tag: 'SignInFailed' as const });
    if (finished.ok) await this.commands.execute(new LeaveSessionCommand(visitor.session));
    else await this.tell(organizationId, visitor, row, finished.failure);
    return finished;
  }

  /** Under the lock of the organization's members: what somebody becomes here, and what administrators make of them, happen one after the other. */
  private async enter({ state }: Return, visitor: Visitor, row: ProviderWithSecret, arrival: Arrival): Promise<Result<SignedIn, SignInFailed>> {
    const { organizationId } = state;
    const key = await this.sealer.keyOf(organizationId);
    return transact<Result<SignedIn, SignInFailed>>(this.db, { organizationId, projectId: null }, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const attempt = await findAttempt(tx, state, 'for no key update');
      if (!attempt || attempt.is_used) return failed(attempt ? 'attempt_used' : 'attempt_unknown');
      const admitted = await this.admit(tx, organizationId, row, arrival.assertion);
      if (!admitted.ok) return failed(admitted.failure.reason);
      const member = await this.become(tx, admitted.value, row, arrival.assertion, visitor);
      if (!member.ok) return member;
      await markUsed(tx, attempt.id);
      const session = await this.commands.execute(new BeginSessionCommand(organizationId, member.value.memberId, visitor, 'oidc', tx));
      const sealed = key.seal(sessionBinding(session.id), arrival.kept);
      await insertProviderSession(tx, { ...arrival, sessionId: session.id, identityId: member.value.identityId, sealed });
      return ok({ session, returnTo: attempt.return_to });
    });
  }

  private async admit(tx: ReadTx, organizationId: string, { id, settings }: ProviderWithSecret, assertion: Assertion): Promise<Result<Admitted, AdmissionRefused>> {
    const context = { organizationId, projectId: null };
    const linked = await findIdentity(tx, id, assertion.subject);
    const before = linked && (await this.queries.execute(new FindMemberQuery(context, linked.member_id, tx)));
    const owner = assertion.email === null ? null : await this.queries.execute(new FindPersonByEmailQuery(context, assertion.email, tx));
    const domain = assertion.email === null ? null : domainOf(assertion.email);
    const addressOwner = owner && { ...toKnown(owner), isLinked: (await findIdentityOf(tx, id, owner.id)) !== null };
    const domainIsOurs = domain !== null && (await isVerifiedFor(tx, id, domain));
    // Whom people removed comes back by people alone: invited anew, they have the address again.
    if (linked && !before && !addressOwner) return fail({ _tag: 'AdmissionRefused', reason: 'not_invited' });
    // What the provider says of groups counts; where it says nothing, what its directory said.
    const who = before ?? owner;
    const groups = assertion.groups ?? (who && (await this.queries.execute(new DirectoryGroupsQuery(id, who.id, tx))));
    return admit({ assertion: { ...assertion, groups }, rules: settings, domainIsOurs, known: before && toKnown(before), addressOwner });
  }

  private async become(
    tx: Tx,
    admitted: Admitted,
    provider: ProviderWithSecret,
    { subject }: Assertion,
    { address }: Visitor,
  ): Promise<Result<{ readonly memberId: string; readonly identityId: string }, SignInFailed>> {
    if (admitted.kind !== 'new') {
      if (admitted.role !== null) await this.commands.execute(new SetVouchedRoleCommand(tx, admitted.memberId, admitted.role));
      return ok({ memberId: admitted.memberId, identityId: await this.link(tx, admitted.kind, { providerId: provider.id, subject, memberId: admitted.memberId }, address) });
    }
    const made = await this.commands.execute(new AdmitVouchedCommand(tx, admitted, address));
    if (!made.ok) return failed('address_taken');
    return ok({ memberId: made.value, identityId: await this.link(tx, 'linked', { providerId: provider.id, subject, memberId: made.value }, address) });
  }

  private async link(tx: Tx, kind: 'known' | 'linked', { providerId, subject, memberId }: Link, address: string): Promise<string> {
    const known = kind === 'known' ? await findIdentity(tx, providerId, subject) : null;
    if (known) {
      await markIdentityUsed(tx, known.id);
      return known.id;
    }
    const who = { kind: 'member', memberId, credential: null, address } as const;
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'identity.linked', target: memberId, detail: { provider: toPublicId('identityProvider', providerId) } }));
    return linkIdentity(tx, { id: uuidv7(), providerId, subject, memberId });
  }

  /** Who was refused is not known here: the provider's word for them is no member. */
  private async tell(organizationId: string, { address }: Visitor, { kind }: ProviderWithSecret, { reason }: SignInFailed): Promise<void> {
    await transact(this.db, { organizationId, projectId: null }, async (tx) => {
      const event = { action: 'sign_in.failed', target: null, detail: { method: kind, reason }, outcome: 'refused' } as const;
      await this.commands.execute(new RecordAuditCommand(tx, { kind: 'nobody', address }, event));
      return ok(null);
    });
  }
}

const toKnown = ({ id, role, suspended }: { readonly id: string; readonly role: Known['role']; readonly suspended: boolean }): Known => ({ memberId: id, role, suspended });

/** Whether an answer may belong to an attempt, before anything of it is read. */
function judgeAttempt(attempt: AttemptRow | null, { providerId, browser }: Return): Result<AttemptRow, SignInFailed> {
  if (!attempt || attempt.provider_id !== providerId) return failed('attempt_unknown');
  if (!browser || !provesToken(attempt.browser, browser)) return failed('cookies_blocked');
  if (attempt.is_used) return failed('attempt_used');
  return attempt.is_over ? failed('attempt_over') : ok(attempt);
}
