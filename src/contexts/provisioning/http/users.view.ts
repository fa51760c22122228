import type { JsonObject } from '@domain/provisioning/attributes.js';
import { userSchemas } from '@domain/provisioning/user.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { Membership } from '../queries/memberships.js';
import type { UserRow } from '../queries/users.js';
import { metaOf } from './scim.answers.js';

export const userLocation = (base: string | null, id: string): string | null => base && `${base}/scim/v2/Users/${toPublicId('directoryUser', id)}`;

/** What a directory said of a person, and what we say: an id, groups and versions. */
export const toUserView = (row: UserRow, groups: readonly Membership[], base: string | null): JsonObject => ({
  schemas: userSchemas(row.resource),
  id: toPublicId('directoryUser', row.id),
  ...row.resource,
  ...(groups.length === 0
    ? {}
    : { groups: groups.map(({ group_id, display_name }) => ({ value: toPublicId('directoryGroup', group_id), display: display_name, type: 'direct' })) }),
  meta: metaOf('User', row, userLocation(base, row.id)),
});
