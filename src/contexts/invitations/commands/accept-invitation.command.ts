import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { InvitationNotFound, PasswordMissing } from '@domain/organizations/invitation.js';
import { nameLimit, type MemberConflict } from '@domain/organizations/member.js';
import type { PasswordRefused } from '@domain/sign-in/password.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { PasswordNotAllowed, SignInBusy } from '@domain/sign-in/sign-in.js';
import type { TenantContext } from '@domain/tenancy.js';
import { GivePasswordCommand } from '@contexts/accounts/public/give-password.command.js';
import { PreparePasswordCommand } from '@contexts/accounts/public/prepare-password.command.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { AdmitMemberCommand } from '@contexts/organizations/public/admit-member.command.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { BeginSessionCommand } from '@contexts/sign-in/public/begin-session.command.js';
import { LeaveSessionCommand } from '@contexts/sign-in/public/leave-session.command.js';
import type { Tx } from '@engine/tx.js';
import { read, transact } from '@platform/database/transact.js';
import type { ParsedToken } from '@platform/identity/credential-text.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';
import type { Visitor } from '@platform/identity/visitor.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { admissionOf, findCounting } from '../queries/find-counting.js';
import { findByText, type Invitation } from '../queries/invitations.js';

export type Acceptance = { readonly name: string | undefined; readonly password: string | undefined };
type AdmitFailure = InvitationNotFound | MemberConflict;
type PrepareFailure = PasswordMissing | PasswordNotAllowed | PasswordRefused | SignInBusy;
export type AcceptInvitationFailure = AdmitFailure | PrepareFailure;

/** Makes a member with exactly the address that was invited, and a session of theirs. Of two acceptances at once the second finds no invitation any more. */
export class AcceptInvitationCommand extends Command<Result<BegunSession, AcceptInvitationFailure>> {
  constructor(
    readonly text: ParsedToken,
    readonly given: Acceptance,
    readonly visitor: Visitor,
  ) {
    super();
  }
}

@CommandHandler(AcceptInvitationCommand)
export class AcceptInvitationHandler implements ICommandHandler<AcceptInvitationCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  async execute({ text, given, visitor }: AcceptInvitationCommand): Promise<Result<BegunSession, AcceptInvitationFailure>> {
    const context = { organizationId: text.organizationId, projectId: null };
    const found = await read(this.db, context, (tx) => findCounting(tx, this.queries, text));
    if (!found) return fail({ _tag: 'InvitationNotFound' });
    const prepared = await this.prepare(context, found, given.password);
    if (!prepared.ok) return prepared;

    const begun = await transact<Result<BegunSession, AdmitFailure>>(this.db, context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const invitation = await findByText(tx, text, 'for no key update of i');
      if (!invitation) return fail({ _tag: 'InvitationNotFound' });
      const admitted = await this.admit(tx, invitation, given.name, visitor.address);
      if (!admitted.ok) return admitted;
      if (prepared.value !== null) await this.commands.execute(new GivePasswordCommand(admitted.value, prepared.value, visitor.address, tx));
      return ok(await this.commands.execute(new BeginSessionCommand(text.organizationId, admitted.value, visitor, 'invitation', tx)));
    });
    if (begun.ok) await this.commands.execute(new LeaveSessionCommand(visitor.session));
    return begun;
  }

  /** The hash of the password, if there is to be one. */
  private async prepare(context: TenantContext, { password_sign_in, email }: Invitation, given: string | undefined): Promise<Result<string | null, PrepareFailure>> {
    if (!password_sign_in) return given === undefined ? ok(null) : fail({ _tag: 'PasswordNotAllowed' });
    if (given === undefined) return fail({ _tag: 'PasswordMissing', field: 'password' });
    return this.commands.execute(new PreparePasswordCommand({ context, given, field: 'password', email }));
  }

  private async admit(tx: Tx, invitation: Invitation, name: string | undefined, address: string): Promise<Result<string, AdmitFailure>> {
    const { id, email, invited_by } = invitation;
    const called = name ?? invitation.name ?? email.split('@')[0]!.slice(0, nameLimit);
    const admitted = await this.commands.execute(new AdmitMemberCommand(invited_by, { ...admissionOf(invitation), name: called, email }, address, tx));
    // Whoever invited may not any more: for the invited person that is no invitation.
    if (!admitted.ok) return fail({ _tag: admitted.failure._tag === 'Forbidden' ? 'InvitationNotFound' : 'MemberConflict' });
    const memberId = admitted.value;
    await tx.query(`update invitation set accepted_at = clock_timestamp(), member_id = $2 where organization_id = tenant_organization() and id = $1`, [id, memberId]);
    const who = { kind: 'member', memberId, credential: null, address } as const;
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'invitation.accepted', target: id, detail: { member: toPublicId('member', memberId) } }));
    return admitted;
  }
}
