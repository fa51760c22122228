import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { InvitationConflict, Invited } from '@domain/organizations/invitation.js';
import type { Forbidden, MemberConflict } from '@domain/organizations/member.js';
import type { ProjectNotFound } from '@domain/organizations/project.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LockRightsCommand } from '@contexts/organizations/public/lock-rights.command.js';
import { FindPersonByEmailQuery } from '@contexts/organizations/public/member.queries.js';
import { transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import type { Identity } from '@platform/identity/identity.js';
import { judgeInvitation } from '../judge-invitation.js';
import { findInvitation, type Invitation, type InvitationProject } from '../queries/invitations.js';

export type WantedInvitation = Invited & {
  readonly email: string;
  readonly name: string | null;
  readonly projects: readonly InvitationProject[];
  readonly expiresInMs: number;
};
/** `text`: what the link carries. Nothing can read it again. */
export type MadeInvitation = { readonly invitation: Invitation; readonly text: string };
export type InviteFailure = Forbidden | MemberConflict | InvitationConflict | ProjectNotFound;

/** Invites whoever has an address. Nobody invites somebody to be more than they are themselves. */
export class InviteCommand extends Command<Result<MadeInvitation, InviteFailure>> {
  constructor(
    readonly identity: Identity,
    readonly wanted: WantedInvitation,
  ) {
    super();
  }
}

@CommandHandler(InviteCommand)
export class InviteHandler implements ICommandHandler<InviteCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ identity, wanted }: InviteCommand): Promise<Result<MadeInvitation, InviteFailure>> {
    const { context, memberId } = identity;
    return transact<Result<MadeInvitation, InviteFailure>>(this.db, context, async (tx) => {
      const asker = await this.commands.execute(new LockRightsCommand(tx, identity, 'members.create'));
      const judged = await judgeInvitation(tx, this.queries, asker, wanted);
      if (!judged.ok) return judged;
      if (judged.value.length < wanted.projects.length) return fail({ _tag: 'ProjectNotFound' });
      if (await this.queries.execute(new FindPersonByEmailQuery(context, wanted.email, tx))) return fail({ _tag: 'MemberConflict' });
      const [id, { token: text, prefix, hash }] = [uuidv7(), newToken(context.organizationId, 'obi_')];
      const made = await tx.query<unknown[]>(
        `insert into invitation (organization_id, id, email, name, role, password_sign_in, invited_by, prefix, hash, expires_at)
         values (tenant_organization(), $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 millisecond') on conflict do nothing returning id`,
        [id, wanted.email, wanted.name, wanted.role, wanted.passwordSignIn, memberId, prefix, hash, wanted.expiresInMs],
      );
      // The id is new, so that only an open invitation of the address can have been there.
      if (made.length === 0) return fail({ _tag: 'InvitationConflict' });
      for (const { projectId, role } of wanted.projects)
        await tx.query(`insert into invitation_project (organization_id, invitation_id, project_id, role) values (tenant_organization(), $1, $2, $3)`, [id, projectId, role]);
      const detail = { role: wanted.role, projects: wanted.projects.length, passwordSignIn: wanted.passwordSignIn, expiresInMs: wanted.expiresInMs };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'invitation.created', target: id, detail }));
      const invitation = await findInvitation(tx, id);
      return ok({ invitation: invitation!, text });
    });
  }
}
