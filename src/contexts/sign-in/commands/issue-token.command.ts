import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import { IssueTokenCommand, type IssuedToken } from '../public/issue-token.command.js';
import { createdEvent } from './credential-events.js';
import { storeCredential } from './store-credential.js';

@CommandHandler(IssueTokenCommand)
export class IssueTokenHandler implements ICommandHandler<IssueTokenCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  async execute(command: IssueTokenCommand): Promise<IssuedToken> {
    const { within } = command;
    if (within) return this.issue(within.tx, within.identity, command);
    const issued = await transact(this.db, command.context, async (tx) => ok(await this.issue(tx, { kind: 'operator' }, command)));
    return issued.ok ? issued.value : issued.failure;
  }

  private async issue(tx: Tx, who: Identity | { readonly kind: 'operator' }, { context, memberId, wanted }: IssueTokenCommand): Promise<IssuedToken> {
    const own = { kind: 'user_token', memberId } as const;
    const whole = { ...wanted, scopes: null, projects: null };
    const { secret, shown } = await storeCredential(tx, context.organizationId, own, { maker: memberId, endsAt: null }, whole);
    await this.commands.execute(new RecordAuditCommand(tx, who, createdEvent(own, shown.id, whole)));
    return { id: shown.id, token: secret, prefix: shown.prefix, createdAt: shown.created_at, expiresAt: shown.expires_at };
  }
}
