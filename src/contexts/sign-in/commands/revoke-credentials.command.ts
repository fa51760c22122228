import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RevokeCredentialsCommand } from '../public/revoke-credentials.command.js';

@CommandHandler(RevokeCredentialsCommand)
export class RevokeCredentialsHandler implements ICommandHandler<RevokeCredentialsCommand> {
  async execute({ memberId, tx }: RevokeCredentialsCommand): Promise<null> {
    await tx.query(`update credential set revoked_at = clock_timestamp() where organization_id = tenant_organization() and member_id = $1 and revoked_at is null`, [memberId]);
    return null;
  }
}
