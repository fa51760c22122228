import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import type { MemberConflict } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { AdmitVouchedCommand } from '../public/admit-vouched.command.js';
import { SetVouchedRoleCommand } from '../public/set-vouched-role.command.js';
import { findMember, insertPerson } from '../queries/members.js';
import { stopLostWork } from './stop-work.command.js';

@CommandHandler(AdmitVouchedCommand)
export class AdmitVouchedHandler implements ICommandHandler<AdmitVouchedCommand> {
  constructor(private readonly commands: CommandBus) {}

  async execute({ tx, person, address }: AdmitVouchedCommand): Promise<Result<string, MemberConflict>> {
    const id = uuidv7();
    if (!(await insertPerson(tx, { id, ...person }))) return fail({ _tag: 'MemberConflict' });
    const byDirectory = { kind: 'service', service: 'directory', onBehalfOf: id } as const;
    const who = address === null ? byDirectory : ({ kind: 'member', memberId: id, credential: null, address } as const);
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'member.created', target: id, detail: { kind: 'person', role: person.role } }));
    return ok(id);
  }
}

/** What the audit log calls who did it. */
const who = { kind: 'service', service: 'identity-provider' } as const;

@CommandHandler(SetVouchedRoleCommand)
export class SetVouchedRoleHandler implements ICommandHandler<SetVouchedRoleCommand> {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  async execute({ tx, memberId, role }: SetVouchedRoleCommand): Promise<null> {
    const member = await findMember(tx, memberId);
    if (!member || member.role === 'owner' || member.role === role) return null;
    await tx.query(`update member set role = $2, revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [memberId, role]);
    const detail = { role, before: member.role };
    await this.commands.execute(new RecordAuditCommand(tx, { ...who, onBehalfOf: memberId }, { action: 'member.role_changed', target: memberId, detail }));
    await this.commands.execute(new EndSessionsCommand(tx, who, { memberId, reason: 'role' }));
    await stopLostWork(tx, this.queries, memberId, false);
    return null;
  }
}
