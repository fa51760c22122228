import type { ReadTx, Tx } from '@engine/tx.js';

export type Membership = { readonly user_id: string; readonly group_id: string; readonly display_name: string; readonly external_id: string | null };

/** The groups of these users, each by its name. */
export const listGroupsOf = (tx: ReadTx, userIds: readonly string[]): Promise<Membership[]> =>
  tx.query<Membership[]>(
    `select m.user_id, g.id as group_id, g.display_name, g.external_id from directory_membership m
     join directory_group g on g.organization_id = m.organization_id and g.id = m.group_id
     where m.organization_id = tenant_organization() and m.user_id = any ($1) order by g.display_name, g.id`,
    [userIds],
  );

/** What rules may call these groups: the name that people see, and the id of the directory. `null`: nothing is said of groups. */
export const namesOf = (groups: readonly Pick<Membership, 'display_name' | 'external_id'>[] | null): readonly string[] | null =>
  groups && groups.flatMap(({ display_name, external_id }) => [display_name, ...(external_id === null ? [] : [external_id])]);

export type MemberOfGroup = { readonly group_id: string; readonly user_id: string; readonly display: string };

/** Whoever is in these groups, `limit` at most. */
export const listMembersOf = (tx: ReadTx, groupIds: readonly string[], limit: number): Promise<MemberOfGroup[]> =>
  tx.query<MemberOfGroup[]>(
    `select m.group_id, m.user_id, coalesce(nullif(u.display_name, ''), u.user_name) as display from directory_membership m
     join directory_user u on u.organization_id = m.organization_id and u.id = m.user_id
     where m.organization_id = tenant_organization() and m.group_id = any ($1) order by m.group_id, m.user_id limit $2`,
    [groupIds, limit],
  );

export async function listIdsOf(tx: ReadTx, groupId: string): Promise<string[]> {
  const rows = await tx.query<{ user_id: string }[]>(`select user_id from directory_membership where organization_id = tenant_organization() and group_id = $1`, [groupId]);
  return rows.map(({ user_id }) => user_id);
}

const idsOf = ([rows]: [{ user_id: string }[], number]): string[] => rows.map(({ user_id }) => user_id);

/** Answers who was not in the group before. From now on the groups of these users say what they are. */
export async function addMembers(tx: Tx, groupId: string, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return [];
  const rows = await tx.query<{ user_id: string }[]>(
    `insert into directory_membership (organization_id, group_id, user_id) select tenant_organization(), $1, id from unnest($2::uuid[]) as id on conflict do nothing returning user_id`,
    [groupId, userIds],
  );
  await tx.query(`update directory_user set in_groups = true where organization_id = tenant_organization() and id = any ($1) and not in_groups`, [userIds]);
  return rows.map(({ user_id }) => user_id);
}

/** Answers who was. */
export const removeMembers = async (tx: Tx, groupId: string, userIds: readonly string[]): Promise<string[]> =>
  userIds.length === 0
    ? []
    : idsOf(
        await tx.query(`delete from directory_membership where organization_id = tenant_organization() and group_id = $1 and user_id = any ($2) returning user_id`, [
          groupId,
          userIds,
        ]),
      );

/** Everybody but these. */
export const removeOthers = async (tx: Tx, groupId: string, userIds: readonly string[]): Promise<string[]> =>
  idsOf(
    await tx.query(`delete from directory_membership where organization_id = tenant_organization() and group_id = $1 and user_id <> all ($2) returning user_id`, [
      groupId,
      userIds,
    ]),
  );
