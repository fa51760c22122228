import type { CommandBus, QueryBus } from '@nestjs/cqrs';
import { admit } from '@domain/identity-providers/admission.js';
import type { LastOwner } from '@domain/organizations/member.js';
import { ok, type Result } from '@domain/result.js';
import type { FoundProvider } from '@contexts/identity-providers/public/find-provider.query.js';
import { FindMemberQuery } from '@contexts/organizations/public/member.queries.js';
import { SetDirectoryStopCommand } from '@contexts/organizations/public/set-directory-stop.command.js';
import { SetVouchedRoleCommand } from '@contexts/organizations/public/set-vouched-role.command.js';
import type { Tx } from '@engine/tx.js';
import type { Directory } from '@platform/identity/directory.js';
import { listGroupsOf, namesOf } from '../queries/memberships.js';
import type { UserRow } from '../queries/users.js';

type Buses = { readonly commands: CommandBus; readonly queries: QueryBus };

/**
 * Makes a member what their directory says now: there or gone, and what their groups are mapped to. Whoever is in no group that lets them in is gone too: a
 * role that their groups once gave them must not stay. Of somebody whom people removed it says nothing any more. Answers what to publish after the commit.
 */
export async function placeMember(
  tx: Tx,
  { commands, queries }: Buses,
  { context }: Directory,
  { id: providerId, rules }: FoundProvider,
  user: UserRow,
): Promise<Result<readonly string[], LastOwner>> {
  const member = await queries.execute(new FindMemberQuery(context, user.member_id, tx));
  if (!member) return ok([]);
  const groups = user.in_groups ? namesOf(await listGroupsOf(tx, [user.id])) : null;
  const assertion = { subject: user.id, email: null, emailVerified: true, name: null, groups };
  // Whether people suspended them is not asked here: their directory neither lets them in nor out by it.
  const admitted = admit({ assertion, rules, domainIsOurs: false, known: { memberId: member.id, role: member.role, suspended: false }, addressOwner: null });
  if (admitted.ok && admitted.value.role !== null) await commands.execute(new SetVouchedRoleCommand(tx, member.id, admitted.value.role));
  const stopped = await commands.execute(new SetDirectoryStopCommand(tx, member.id, providerId, !user.active || !admitted.ok));
  return stopped.ok || stopped.failure._tag === 'LastOwner' ? (stopped as Result<readonly string[], LastOwner>) : ok([]);
}
