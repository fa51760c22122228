import type { ScimInvalid } from '@domain/provisioning/failures.js';
import type { GroupChange } from '@domain/provisioning/group.js';
import { invalid } from '@domain/provisioning/patch.js';
import { ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { addMembers, removeMembers, removeOthers } from '../queries/memberships.js';
import { findUserIds } from '../queries/users.js';

/** Who came to a group, and who left it: UUIDs of users. */
export type MembershipChanged = { readonly added: readonly string[]; readonly removed: readonly string[] };

/** Changes who is in a group. Nobody comes in of whom this directory has not told; whoever is to leave may not have been there. */
export async function changeMembership(
  tx: Tx,
  providerId: string,
  groupId: string,
  { all, added, removed }: Pick<GroupChange, 'all' | 'added' | 'removed'>,
): Promise<Result<MembershipChanged, ScimInvalid>> {
  const wanted = [...added].map((id) => fromPublicId('directoryUser', id));
  const known = await findUserIds(tx, providerId, wanted.filter((id) => id !== null)); // prettier-ignore
  if (known.length < wanted.length) return invalid('invalidValue', 'A member is no user of whom this directory has told.');
  const gone = all ? await removeOthers(tx, groupId, known) : await removeMembers(tx, groupId, [...removed].flatMap((id) => fromPublicId('directoryUser', id) ?? [])); // prettier-ignore
  return ok({ added: await addMembers(tx, groupId, known), removed: gone });
}
