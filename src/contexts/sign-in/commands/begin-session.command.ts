import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { Config } from '@platform/config/config.js';
import { newToken } from '@platform/identity/credential-text.js';
import type { BegunSession } from '@platform/identity/session-cookie.js';
import { BeginSessionCommand } from '../public/begin-session.command.js';

@CommandHandler(BeginSessionCommand)
export class BeginSessionHandler implements ICommandHandler<BeginSessionCommand> {
  constructor(
    private readonly config: Config,
    private readonly commands: CommandBus,
  ) {}

  async execute({ organizationId, memberId, visitor, method, tx }: BeginSessionCommand): Promise<BegunSession> {
    const { token: secret, prefix, hash } = newToken(organizationId, 'obs_');
    const id = uuidv7();
    const [row] = await tx.query<{ expires_at: Date }[]>(
      `insert into credential (organization_id, id, kind, member_id, created_by, name, prefix, hash, user_agent, address, expires_at, idle_until)
       values ($1, $2, 'session', $3, $3, 'Session', $4, $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond', clock_timestamp() + $9 * interval '1 millisecond')
       returning expires_at`,
      [organizationId, id, memberId, prefix, hash, visitor.userAgent, visitor.address, this.config.sessionMs, this.config.sessionIdleMs],
    );
    const who = { kind: 'member', memberId, credential: { kind: 'session', id }, address: visitor.address } as const;
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'session.started', target: id, detail: { method } }));
    return { id, organizationId, memberId, secret, expiresAt: row!.expires_at };
  }
}
