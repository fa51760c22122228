import type { QueryBus } from '@nestjs/cqrs';
import { addressOf } from '@domain/provisioning/user.js';
import type { TenantContext } from '@domain/tenancy.js';
import { SignsInElsewhereQuery, SpeaksForQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { FindPersonByEmailQuery, FindStandingsQuery, type Member } from '@contexts/organizations/public/member.queries.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { isTold, relinkUser, type UserRow } from '../queries/users.js';

type Asking = { readonly queries: QueryBus; readonly context: TenantContext };

/** The member with an address, and whether they are somebody else's: of another directory, or of another provider by which they sign in. */
export async function findMemberBy(tx: ReadTx, { queries, context }: Asking, providerId: string, email: string): Promise<(Member & { readonly elsewhere: boolean }) | null> {
  const member = await queries.execute(new FindPersonByEmailQuery(context, email, tx));
  return member && { ...member, elsewhere: (await isTold(tx, member.id)) || (await queries.execute(new SignsInElsewhereQuery(providerId, member.id, tx))) };
}

/**
 * Who a user is here now. Whom people removed and let in anew is another member, and the same person to the directory: what it says of them is meant for who
 * they are now, by the rule by which they would be linked.
 */
export async function followMember(tx: Tx, asking: Asking, providerId: string, user: UserRow): Promise<UserRow> {
  const [known] = await asking.queries.execute(new FindStandingsQuery([user.member_id], tx));
  const email = known ? null : addressOf({ userName: user.user_name, resource: user.resource });
  const member = email === null ? null : await findMemberBy(tx, asking, providerId, email);
  const isTheirs = member && !member.elsewhere && (await asking.queries.execute(new SpeaksForQuery(providerId, email!, tx)));
  return isTheirs ? relinkUser(tx, user.id, member.id) : user;
}
