import type { CommandBus, QueryBus } from '@nestjs/cqrs';
import { admit } from '@domain/identity-providers/admission.js';
import type { LastOwner } from '@domain/organizations/member.js';
import { ok, type Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { FoundProvider } from '@contexts/identity-providers/public/find-provider.query.js';
import { FindStandingsQuery, type Member } from '@contexts/organizations/public/member.queries.js';
import { SetDirectoryStopCommand } from '@contexts/organizations/public/set-directory-stop.command.js';
import { SetVouchedRoleCommand } from '@contexts/organizations/public/set-vouched-role.command.js';
import type { Tx } from '@engine/tx.js';
import { listGroupsOf, namesOf, type Membership } from '../queries/memberships.js';
import type { UserRow } from '../queries/users.js';
import { followMember } from './follow-member.js';

export type Buses = { readonly commands: CommandBus; readonly queries: QueryBus; readonly context: TenantContext };

/**
 * Makes members what their directory says now: there or gone, and what their groups are mapped to. Whoever is in no group that lets them in is gone too: a
 * role that their groups once gave them must not stay. Of somebody whom people removed it says nothing any more. Answers what to publish after the commit.
 */
export async function placeMembers(tx: Tx, buses: Buses, provider: FoundProvider, told: readonly UserRow[]): Promise<Result<readonly string[], LastOwner>> {
  const users = await followed(tx, buses, provider, told);
  const groupsOf = new Map<string, Membership[]>(users.filter(({ in_groups }) => in_groups).map(({ id }) => [id, []]));
  for (const group of await listGroupsOf(tx, [...groupsOf.keys()])) groupsOf.get(group.user_id)?.push(group);
  const memberOf = await membersOf(tx, buses, users);
  const touched: string[] = [];
  // In the order of members, so that no two who meet wait for each other.
  for (const user of users.toSorted((a, b) => (a.member_id < b.member_id ? -1 : 1))) {
    const member = memberOf.get(user.member_id);
    const placed = member ? await place(tx, buses, provider, { user, member, groups: namesOf(groupsOf.get(user.id) ?? null) }) : ok([]);
    if (!placed.ok) return placed;
    touched.push(...placed.value);
  }
  return ok(touched);
}

async function membersOf(tx: Tx, { queries }: Buses, users: readonly UserRow[]): Promise<ReadonlyMap<string, Member>> {
  const members = await queries.execute(new FindStandingsQuery(users.map(({ member_id }) => member_id), tx)); // prettier-ignore
  return new Map(members.map((member) => [member.id, member]));
}

/** Nearly all are who they were. */
async function followed(tx: Tx, buses: Buses, { id: providerId }: FoundProvider, users: readonly UserRow[]): Promise<readonly UserRow[]> {
  const known = await membersOf(tx, buses, users);
  const now: UserRow[] = [];
  for (const user of users) now.push(known.has(user.member_id) ? user : await followMember(tx, buses, providerId, user));
  return now;
}

type Person = { readonly user: UserRow; readonly member: Member; readonly groups: readonly string[] | null };

async function place(tx: Tx, { commands }: Buses, { id: providerId, rules }: FoundProvider, { user, member, groups }: Person): Promise<Result<readonly string[], LastOwner>> {
  const assertion = { subject: user.id, email: null, emailVerified: true, name: null, groups };
  // Whether people suspended them is not asked here: their directory neither lets them in nor out by it.
  const admitted = admit({ assertion, rules, domainIsOurs: false, known: { memberId: member.id, role: member.role, suspended: false }, addressOwner: null });
  if (admitted.ok && admitted.value.role !== null) await commands.execute(new SetVouchedRoleCommand(tx, member.id, admitted.value.role));
  const stopped = !user.active || !admitted.ok;
  if (stopped === (member.stoppedBy !== null)) return ok([]);
  const told = await commands.execute(new SetDirectoryStopCommand(tx, member.id, providerId, stopped));
  return told.ok || told.failure._tag === 'LastOwner' ? (told as Result<readonly string[], LastOwner>) : ok([]);
}
