import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { CreateOrganizationCommand } from '@contexts/organizations/public/create-organization.command.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { FoundOrganizationCommand, type FoundedOrganization } from '../public/found-organization.command.js';
import { IssueTokenCommand } from '../public/issue-token.command.js';

@CommandHandler(FoundOrganizationCommand)
export class FoundOrganizationHandler implements ICommandHandler<FoundOrganizationCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ name, owner, withToken }: FoundOrganizationCommand): Promise<FoundedOrganization> {
    const [organizationId, projectId, memberId] = [uuidv7(), uuidv7(), uuidv7()] as const;
    const made = await this.commands.execute(
      new CreateOrganizationCommand({ organization: { id: organizationId, name }, project: { id: projectId, name: 'Default' }, owner: { id: memberId, ...owner } }),
    );
    if (!made.ok) throw new Error('an organization with a new id cannot be there');
    const issued = withToken ? await this.commands.execute(new IssueTokenCommand({ organizationId, projectId }, memberId, { name: 'First', expiresInMs: null })) : null;
    return {
      organizationId: toPublicId('organization', organizationId),
      projectId: toPublicId('project', projectId),
      memberId: toPublicId('member', memberId),
      token: issued?.token ?? null,
    };
  }
}
