import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import { IssueTokenCommand, type IssuedToken } from '../public/issue-token.command.js';
import { createdEvent } from './credential-events.js';
import { storeCredential } from './store-credential.js';

@CommandHandler(IssueTokenCommand)
export class IssueTokenHandler implements ICommandHandler<IssueTokenCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute({ context, memberId, wanted }: IssueTokenCommand): Promise<IssuedToken> {
    const own = { kind: 'user_token', memberId } as const;
    const whole = { ...wanted, scopes: null, projects: null };
    const issued = await transact(this.db, context, async (tx) => {
      const { secret, shown } = await storeCredential(tx, context.organizationId, own, { maker: memberId, endsAt: null, madeWith: null }, whole);
      await this.commands.execute(new RecordAuditCommand(tx, { kind: 'operator' }, createdEvent(own, shown.id, whole)));
      return ok({ id: shown.id, token: secret, prefix: shown.prefix, createdAt: shown.created_at, expiresAt: shown.expires_at });
    });
    return issued.ok ? issued.value : issued.failure;
  }
}
