import { coreGroup, type JsonObject } from '@domain/provisioning/attributes.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { GroupRow } from '../queries/groups.js';
import type { MemberOfGroup } from '../queries/memberships.js';
import { metaOf } from './scim.answers.js';
import { userLocation } from './users.view.js';

export const groupLocation = (base: string | null, id: string): string | null => base && `${base}/scim/v2/Groups/${toPublicId('directoryGroup', id)}`;

const memberView = ({ user_id, display }: MemberOfGroup, base: string | null): JsonObject => {
  const location = userLocation(base, user_id);
  return { value: toPublicId('directoryUser', user_id), ...(location === null ? {} : { $ref: location }), display, type: 'User' };
};

/** `members`: null where they are not asked for. */
export const toGroupView = (row: GroupRow, members: readonly MemberOfGroup[] | null, base: string | null): JsonObject => ({
  schemas: [coreGroup],
  id: toPublicId('directoryGroup', row.id),
  displayName: row.display_name,
  ...(row.external_id === null ? {} : { externalId: row.external_id }),
  ...(members ? { members: members.map((member) => memberView(member, base)) } : {}),
  meta: metaOf('Group', row, groupLocation(base, row.id)),
});
