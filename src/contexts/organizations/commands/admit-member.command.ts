import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEvent } from '@domain/audit/entry.js';
import type { AdmitMemberFailure } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { AdmitMemberCommand } from '../public/admit-member.command.js';
import { judgeAdmission } from '../queries/may-admit.handler.js';
import { insertPerson } from '../queries/members.js';
import { lockOrganization } from '../queries/organization.js';
import { insertProjectRole } from '../queries/project-roles.js';

@CommandHandler(AdmitMemberCommand)
export class AdmitMemberHandler implements ICommandHandler<AdmitMemberCommand> {
  constructor(private readonly commands: CommandBus) {}

  /** Under the organization's lock: a change of what the inviter is comes before this, or after it, and the deletion of a project too. */
  async execute({ inviterId, admission, address, tx }: AdmitMemberCommand): Promise<Result<string, AdmitMemberFailure>> {
    await lockOrganization(tx);
    const judged = await judgeAdmission(tx, inviterId, admission);
    if (!judged) return fail({ _tag: 'Forbidden' });
    const { name, email, role, projects } = judged;
    const id = uuidv7();
    if (!(await insertPerson(tx, { id, name, email, role }))) return fail({ _tag: 'MemberConflict' });
    for (const project of projects) {
      await insertProjectRole(tx, project.projectId, { memberId: id, role: project.role });
      await tx.query(`update project set revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [project.projectId]);
    }
    const who = { kind: 'member', memberId: id, credential: null, address } as const;
    const roles = projects.map((given): AuditEvent => ({ action: 'project.role_set', target: id, detail: { role: given.role, before: null }, projectId: given.projectId }));
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'member.created', target: id, detail: { kind: 'person', role } }, ...roles));
    return ok(id);
  }
}
