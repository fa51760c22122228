import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { MemberNotFound } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { setupLinkLife, type AddressMissing } from '@domain/sign-in/sign-in.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindMemberQuery, FindPersonByEmailQuery } from '@contexts/organizations/public/member.queries.js';
import { transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import { IssueOwnerLinkCommand } from '../public/issue-owner-link.command.js';
import { storeLink } from '../queries/account.js';

@CommandHandler(IssueOwnerLinkCommand)
export class IssueOwnerLinkHandler implements ICommandHandler<IssueOwnerLinkCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  execute({ organizationId, owner }: IssueOwnerLinkCommand): Promise<Result<string, MemberNotFound | AddressMissing>> {
    const context = { organizationId, projectId: null };
    return transact<Result<string, MemberNotFound | AddressMissing>>(this.db, context, async (tx) => {
      const member = await this.queries.execute('id' in owner ? new FindMemberQuery(context, owner.id, tx) : new FindPersonByEmailQuery(context, owner.email, tx));
      if (member?.role !== 'owner' || member.suspended) return fail({ _tag: 'MemberNotFound' });
      if (member.email === null) return fail({ _tag: 'AddressMissing' });
      const { token, ...stored } = newToken(organizationId, 'obl_');
      await storeLink(tx, member.id, { ...stored, lifeMs: setupLinkLife });
      const event = { action: 'setup.link_created', target: member.id, detail: { expiresInMs: setupLinkLife } } as const;
      await this.commands.execute(new RecordAuditCommand(tx, { kind: 'operator' }, event));
      return ok(token);
    });
  }
}
