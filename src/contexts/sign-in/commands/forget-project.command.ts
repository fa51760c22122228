import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ForgetProjectCommand } from '../public/forget-project.command.js';

@CommandHandler(ForgetProjectCommand)
export class ForgetProjectHandler implements ICommandHandler<ForgetProjectCommand> {
  async execute({ projectId, tx }: ForgetProjectCommand): Promise<null> {
    await tx.query(
      `update credential set projects = array_remove(projects, $1::uuid), revoked_at = case when projects = array[$1::uuid] then coalesce(revoked_at, clock_timestamp()) else revoked_at end
       where organization_id = tenant_organization() and $1 = any (projects)`,
      [projectId],
    );
    return null;
  }
}
