import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import type { LastOwner, MemberNotFound } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { SetDirectoryStopCommand } from '../public/set-directory-stop.command.js';
import { countOtherOwners, findMember } from '../queries/members.js';
import { stopLostWork } from './stop-work.command.js';

@CommandHandler(SetDirectoryStopCommand)
export class SetDirectoryStopHandler implements ICommandHandler<SetDirectoryStopCommand> {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  async execute({ tx, memberId, providerId, stopped }: SetDirectoryStopCommand): Promise<Result<readonly string[], LastOwner | MemberNotFound>> {
    const member = await findMember(tx, memberId);
    if (!member) return fail({ _tag: 'MemberNotFound' });
    if (stopped ? member.stoppedBy !== null : member.stoppedBy !== providerId) return ok([]);
    // Whoever runs the directory must not be able to leave the organization without anybody who answers for it.
    if (stopped && member.role === 'owner' && !member.suspended && (await countOtherOwners(tx, memberId)) === 0) return fail({ _tag: 'LastOwner' });
    await tx.query(
      `update member set stopped_at = case when $2 then clock_timestamp() end, stopped_by = case when $2 then $3::uuid end, revision = revision + 1
       where organization_id = tenant_organization() and id = $1`,
      [memberId, stopped, providerId],
    );
    const who = { kind: 'service', service: 'directory', onBehalfOf: memberId } as const;
    const detail = { provider: toPublicId('identityProvider', providerId) };
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: stopped ? 'member.stopped' : 'member.reactivated', target: memberId, detail }));
    if (!stopped) return ok([]);
    await this.commands.execute(new EndSessionsCommand(tx, who, { memberId, reason: 'directory' }));
    return ok(await stopLostWork(tx, this.queries, memberId, true));
  }
}
