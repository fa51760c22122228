import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { NameMemberCommand } from '../public/name-member.command.js';

@CommandHandler(NameMemberCommand)
export class NameMemberHandler implements ICommandHandler<NameMemberCommand> {
  async execute({ memberId, name, tx }: NameMemberCommand): Promise<null> {
    await tx.query(`update member set name = $2, revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [memberId, name]);
    return null;
  }
}
