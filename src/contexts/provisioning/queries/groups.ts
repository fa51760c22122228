import type { Filter } from '@domain/provisioning/filter.js';
import type { ScimInvalid } from '@domain/provisioning/failures.js';
import { ok, type Result } from '@domain/result.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { toSql, type Column, type Columns } from './filter-sql.js';
import type { Asked, Found } from './users.js';

export type GroupRow = {
  readonly id: string;
  readonly display_name: string;
  readonly external_id: string | null;
  readonly revision: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};

const columns = `id, display_name, external_id, revision, created_at, updated_at`;
const ofDirectory = `organization_id = tenant_organization() and provider_id = $1`;

const value: Column = { kind: 'id', sql: 'm.user_id', read: (text) => fromPublicId('directoryUser', text) };
const members: Column = {
  kind: 'many',
  value,
  has: (condition) => `exists (select from directory_membership m where m.organization_id = directory_group.organization_id and m.group_id = directory_group.id and ${condition})`,
  within: { value },
};
const searchable: Columns = {
  id: { kind: 'id', sql: 'id', read: (text) => fromPublicId('directoryGroup', text) },
  displayName: { kind: 'text', sql: 'display_name' },
  externalId: { kind: 'text', sql: 'external_id', exact: true },
  'members.value': members,
  members,
};

/** One page of those that a filter means, oldest first, and how many there are. */
export async function listGroups(tx: ReadTx, providerId: string, { filter, startIndex, count }: Asked): Promise<Result<Found<GroupRow>, ScimInvalid>> {
  const condition = groupsMeant(filter);
  if (!condition.ok) return condition;
  const { sql, values } = condition.value;
  const [total] = await tx.query<{ total: number }[]>(`select count(*)::int as total from directory_group where ${ofDirectory} and ${sql}`, [providerId, ...values]);
  const page = `limit $${values.length + 2} offset $${values.length + 3}`;
  const rows = await tx.query<GroupRow[]>(`select ${columns} from directory_group where ${ofDirectory} and ${sql} order by id ${page}`, [
    providerId,
    ...values,
    count,
    startIndex - 1,
  ]);
  return ok({ total: total?.total ?? 0, rows });
}

const groupsMeant = (filter: Filter | null) => toSql(filter, searchable, 2);

export async function findGroup(tx: ReadTx, providerId: string, id: string): Promise<GroupRow | null> {
  const [row] = await tx.query<GroupRow[]>(`select ${columns} from directory_group where ${ofDirectory} and id = $2`, [providerId, id]);
  return row ?? null;
}

type Said = { readonly displayName: string; readonly externalId: string | null };

export async function insertGroup(tx: Tx, id: string, providerId: string, { displayName, externalId }: Said): Promise<GroupRow> {
  const [row] = await tx.query<GroupRow[]>(
    `insert into directory_group (organization_id, provider_id, id, display_name, external_id) values (tenant_organization(), $1, $2, $3, $4) returning ${columns}`,
    [providerId, id, displayName, externalId],
  );
  return row!;
}

export async function updateGroup(tx: Tx, id: string, { displayName, externalId }: Said): Promise<GroupRow> {
  const [[row]] = await tx.query<[[GroupRow], number]>(
    `update directory_group set display_name = $2, external_id = $3, revision = revision + 1, updated_at = clock_timestamp()
     where organization_id = tenant_organization() and id = $1 returning ${columns}`,
    [id, displayName, externalId],
  );
  return row;
}

export const deleteGroup = (tx: Tx, id: string): Promise<unknown> => tx.query(`delete from directory_group where organization_id = tenant_organization() and id = $1`, [id]);
