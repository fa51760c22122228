import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '@domain/audit/entry.js';
import { mayAssign, mayHaveWork, rightsOf } from '@domain/access/rights.js';
import type { ProjectRole } from '@domain/access/roles.js';
import type { Forbidden } from '@domain/organizations/member.js';
import type { ProjectMemberInvalid } from '@domain/organizations/project.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import type { Member } from '../public/member.queries.js';
import { findMembers } from '../queries/members.js';
import { listProjectMembers, replaceProjectMembers, type ProjectMember, type ProjectMembers } from '../queries/project-roles.js';
import { stopWorkIn } from './stop-work.command.js';
import { lockOwnProject, type RenameProjectFailure } from './rename-project.command.js';

export type SetProjectMembersFailure = RenameProjectFailure | Forbidden | ProjectMemberInvalid;
type SetRoles = { readonly set: ProjectMembers; readonly touched: readonly string[] };

/** Makes the roles in a project exactly these. Who may no longer have bots work for them there is stopped in the same transaction. */
export class SetProjectMembersCommand extends Command<Result<ProjectMembers, SetProjectMembersFailure>> {
  constructor(
    readonly identity: Identity,
    readonly projectId: string,
    readonly expected: number,
    readonly members: readonly ProjectMember[],
  ) {
    super();
  }
}

@CommandHandler(SetProjectMembersCommand)
export class SetProjectMembersHandler implements ICommandHandler<SetProjectMembersCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute(command: SetProjectMembersCommand): Promise<Result<ProjectMembers, SetProjectMembersFailure>> {
    const result = await transact<Result<SetRoles, SetProjectMembersFailure>>(this.db, command.identity.context, (tx) => this.set(tx, command));
    if (!result.ok) return result;
    this.wake.publish(result.value.touched);
    return ok(result.value.set);
  }

  private async set(tx: Tx, { identity, projectId, expected, members }: SetProjectMembersCommand): Promise<Result<SetRoles, SetProjectMembersFailure>> {
    const { permissions } = await this.commands.execute(new LockRightsCommand(tx, identity, 'projects.change'));
    const locked = await lockOwnProject(tx, identity, projectId, expected);
    if (!locked.ok) return locked;
    const before = await listProjectMembers(tx, projectId);
    const found = new Map(
      (
        await findMembers(
          tx,
          [...before, ...members].map(({ memberId }) => memberId),
        )
      ).map((member) => [member.id, member]),
    );
    const wrong = members.findIndex(({ memberId }, index) => !found.has(memberId) || members.findIndex((other) => other.memberId === memberId) !== index);
    if (wrong >= 0) return fail({ _tag: 'ProjectMemberInvalid', field: `members[${wrong}].member`, member: toPublicId('member', members[wrong]!.memberId) });
    const changed = differences(before, members);
    if (!changed.every(({ role }) => mayAssign(permissions, role))) return fail({ _tag: 'Forbidden' });

    await replaceProjectMembers(tx, projectId, members);
    await tx.query(`update project set revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [projectId]);
    await this.commands.execute(new RecordAuditCommand(tx, identity, ...eventsOf(before, members)));
    const stopped = [...new Set(changed.map(({ memberId }) => memberId))].filter((id) => !hasWork(found.get(id), members));
    const touched = await stopWorkIn(tx, this.queries, stopped, [projectId]);
    return ok({ set: { revision: expected + 1, members }, touched });
  }
}

/** Every role that is given or taken. */
function differences(before: readonly ProjectMember[], after: readonly ProjectMember[]): ProjectMember[] {
  const isIn = (list: readonly ProjectMember[], { memberId, role }: ProjectMember): boolean => list.some((other) => other.memberId === memberId && other.role === role);
  return [...before.filter((entry) => !isIn(after, entry)), ...after.filter((entry) => !isIn(before, entry))];
}

/** One entry for each member whose role is not as it was. */
function eventsOf(before: readonly ProjectMember[], after: readonly ProjectMember[]): AuditEvent[] {
  const roleIn = (list: readonly ProjectMember[], id: string): ProjectRole | null => list.find(({ memberId }) => memberId === id)?.role ?? null;
  const members = [...new Set(differences(before, after).map(({ memberId }) => memberId))];
  return members.map((target): AuditEvent => {
    const [was, role] = [roleIn(before, target), roleIn(after, target)];
    return role === null ? { action: 'project.role_removed', target, detail: { before: was } } : { action: 'project.role_set', target, detail: { role, before: was } };
  });
}

const hasWork = (member: Member | undefined, roles: readonly ProjectMember[]): boolean =>
  member !== undefined && mayHaveWork(rightsOf({ role: member.role, projectRole: roles.find(({ memberId }) => memberId === member.id)?.role ?? null }));
