import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import type { Tx } from '@engine/tx.js';
import { IssueTokenCommand, type IssuedToken } from '../public/issue-token.command.js';
import { storeCredential } from './store-credential.js';

@CommandHandler(IssueTokenCommand)
export class IssueTokenHandler implements ICommandHandler<IssueTokenCommand> {
  constructor(private readonly db: DataSource) {}

  async execute(command: IssueTokenCommand): Promise<IssuedToken> {
    if (command.tx) return this.issue(command.tx, command);
    const issued = await transact(this.db, command.context, async (tx) => ok(await this.issue(tx, command)));
    return issued.ok ? issued.value : issued.failure;
  }

  private async issue(tx: Tx, { context, memberId, wanted }: IssueTokenCommand): Promise<IssuedToken> {
    const own = { kind: 'user_token', memberId } as const;
    const { secret, shown } = await storeCredential(tx, context.organizationId, own, memberId, { ...wanted, scopes: null, projects: null });
    return { id: shown.id, token: secret, prefix: shown.prefix, createdAt: shown.created_at, expiresAt: shown.expires_at };
  }
}
