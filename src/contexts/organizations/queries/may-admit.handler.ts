import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { rightsOf } from '@domain/access/rights.js';
import { mayInvite } from '@domain/organizations/invitation.js';
import type { ReadTx } from '@engine/tx.js';
import { MayAdmitQuery, type Admission } from '../public/admit-member.command.js';
import { findMember } from './members.js';
import { listStandings } from './project-roles.js';

/** What of an admission its inviter gives now, which leaves out projects that are gone; `null`: they may not give all that is left. */
export async function judgeAdmission<A extends Admission>(tx: ReadTx, inviterId: string, admission: A): Promise<A | null> {
  const inviter = await findMember(tx, inviterId);
  if (!inviter || inviter.suspended) return null;
  const standings = new Map((await listStandings(tx, inviterId)).map((standing) => [standing.projectId, standing]));
  const projects = admission.projects.filter(({ projectId }) => standings.has(projectId));
  const given = projects.map(({ projectId, role }) => ({ rights: rightsOf(standings.get(projectId)!), role }));
  return mayInvite(rightsOf({ role: inviter.role, projectRole: null }), admission, given) ? { ...admission, projects } : null;
}

@QueryHandler(MayAdmitQuery)
export class MayAdmitHandler implements IQueryHandler<MayAdmitQuery> {
  async execute({ inviterId, admission, tx }: MayAdmitQuery): Promise<boolean> {
    return (await judgeAdmission(tx, inviterId, admission)) !== null;
  }
}
