import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { mayAppoint } from '@domain/access/rights.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { CreateMemberFailure } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { IssueTokenCommand, type IssuedToken } from '@contexts/sign-in/public/issue-token.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Member } from '../public/member.queries.js';

export type NewMember = { readonly name: string; readonly email: string | null; readonly role: OrganizationRole };
export type CreatedMember = { readonly member: Member; readonly token: IssuedToken };

/** Makes a member together with a first token, which the owner hands over: without one nobody could enter as that member. */
export class CreateMemberCommand extends Command<Result<CreatedMember, CreateMemberFailure>> {
  constructor(
    readonly identity: Identity,
    readonly wanted: NewMember,
  ) {
    super();
  }
}

@CommandHandler(CreateMemberCommand)
export class CreateMemberHandler implements ICommandHandler<CreateMemberCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ identity, wanted }: CreateMemberCommand): Promise<Result<CreatedMember, CreateMemberFailure>> {
    const { context, permissions } = identity;
    if (!permissions.has('members.create') || !mayAppoint(permissions, wanted.role)) return fail({ _tag: 'Forbidden' });
    return transact(this.db, context, async (tx) => {
      const id = uuidv7();
      const [made] = await tx.query<{ created_at: Date }[]>(
        `insert into member (organization_id, id, name, email, role) values ($1, $2, $3, $4, $5) on conflict do nothing returning created_at`,
        [context.organizationId, id, wanted.name, wanted.email, wanted.role],
      );
      // The id is new, so that only the e-mail address can have been there.
      if (!made) return fail({ _tag: 'MemberConflict' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'member.created', target: id, detail: { kind: 'person', role: wanted.role } }));
      const token = await this.commands.execute(new IssueTokenCommand(context, id, { name: 'First token', expiresInMs: null }, { tx, identity }));
      return ok({ member: { id, kind: 'person', ...wanted, suspended: false, revision: 1, createdAt: made.created_at }, token });
    });
  }
}
