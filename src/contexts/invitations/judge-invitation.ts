import type { QueryBus } from '@nestjs/cqrs';
import { mayInvite, type Invited } from '@domain/organizations/invitation.js';
import type { Forbidden } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import type { InvitationProject } from './queries/invitations.js';

/** Whether the caller, as they are now, may invite so, by what their credential may do in each of the projects. Answers those projects that are there. */
export async function judgeInvitation(
  tx: Tx,
  queries: QueryBus,
  { context, tokenId, permissions }: Identity,
  wanted: Invited & { readonly projects: readonly InvitationProject[] },
): Promise<Result<readonly InvitationProject[], Forbidden>> {
  const given = [];
  for (const project of wanted.projects) {
    const there = await queries.execute(new LoadIdentityQuery({ ...context, projectId: project.projectId }, tokenId, tx));
    if (there) given.push({ project, rights: there.permissions, role: project.role });
  }
  return mayInvite(permissions, wanted, given) ? ok(given.map(({ project }) => project)) : fail({ _tag: 'Forbidden' });
}
