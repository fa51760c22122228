import type { Tx } from '@engine/tx.js';
import type { EndedCredential } from '@contexts/organizations/public/stop-work.command.js';

const revoke = async (tx: Tx, which: string, values: readonly unknown[]): Promise<readonly EndedCredential[]> => {
  const [ended] = await tx.query<[EndedCredential[], number]>(
    `update credential set revoked_at = clock_timestamp() where organization_id = tenant_organization() and revoked_at is null and ${which} returning id, member_id as "memberId"`,
    [...values],
  );
  return ended;
};

/**
 * Ends those of the organization's credentials that `which` names, and what was made with them, however far. Level by level: whoever makes one holds
 * the row of the one that it is made with, so that what is under way is there when its level comes, or is refused.
 */
export async function revokeTree(tx: Tx, which: string, values: readonly unknown[]): Promise<readonly EndedCredential[]> {
  const ended = [...(await revoke(tx, which, values))];
  for (let level: readonly EndedCredential[] = ended; level.length > 0; ended.push(...level)) level = await revoke(tx, `made_with = any ($1)`, [level.map(({ id }) => id)]);
  return ended;
}
