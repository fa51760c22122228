import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import type { Tx } from '@engine/tx.js';
import { newToken } from '../policies/token-text.js';
import { IssueTokenCommand, type IssuedToken } from '../public/issue-token.command.js';

@CommandHandler(IssueTokenCommand)
export class IssueTokenHandler implements ICommandHandler<IssueTokenCommand> {
  constructor(private readonly db: DataSource) {}

  async execute(command: IssueTokenCommand): Promise<IssuedToken> {
    if (command.tx) return this.issue(command.tx, command);
    const issued = await transact(this.db, command.context, async (tx) => ok(await this.issue(tx, command)));
    return issued.ok ? issued.value : issued.failure;
  }

  private async issue(tx: Tx, { context, memberId, wanted }: IssueTokenCommand): Promise<IssuedToken> {
    const id = uuidv7();
    const { token, prefix, hash } = newToken(context.organizationId);
    const [row] = await tx.query<{ created_at: Date; expires_at: Date | null }[]>(
      `insert into credential (organization_id, id, kind, member_id, created_by, name, prefix, hash, expires_at)
       values ($1, $2, 'user_token', $3, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 millisecond') returning created_at, expires_at`,
      [context.organizationId, id, memberId, wanted.name, prefix, hash, wanted.expiresInMs],
    );
    return { id, token, prefix, createdAt: row!.created_at, expiresAt: row!.expires_at };
  }
}
