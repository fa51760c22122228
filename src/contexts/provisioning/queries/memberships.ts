import type { ReadTx } from '@engine/tx.js';

export type Membership = { readonly user_id: string; readonly group_id: string; readonly display_name: string; readonly external_id: string | null };

/** The groups of these users, each by its name. */
export const listGroupsOf = (tx: ReadTx, userIds: readonly string[]): Promise<Membership[]> =>
  tx.query<Membership[]>(
    `select m.user_id, g.id as group_id, g.display_name, g.external_id from directory_membership m
     join directory_group g on g.organization_id = m.organization_id and g.id = m.group_id
     where m.organization_id = tenant_organization() and m.user_id = any ($1) order by g.display_name, g.id`,
    [userIds],
  );

/** What rules may call these groups: the name that people see, and the id of the directory. */
export const namesOf = (groups: readonly Membership[]): readonly string[] =>
  groups.flatMap(({ display_name, external_id }) => [display_name, ...(external_id === null ? [] : [external_id])]);
