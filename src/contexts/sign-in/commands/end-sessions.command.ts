import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { EndSessionsCommand } from '../public/end-sessions.command.js';

@CommandHandler(EndSessionsCommand)
export class EndSessionsHandler implements ICommandHandler<EndSessionsCommand> {
  async execute({ memberId, exceptId, tx }: EndSessionsCommand): Promise<readonly string[]> {
    const [ended] = await tx.query<[{ id: string }[], number]>(
      `update credential set revoked_at = clock_timestamp()
       where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and id is distinct from $2 and revoked_at is null returning id`,
      [memberId, exceptId],
    );
    return ended.map(({ id }) => id);
  }
}
