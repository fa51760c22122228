import type { JsonObject } from '@domain/provisioning/attributes.js';
import type { Filter } from '@domain/provisioning/filter.js';
import type { ScimInvalid } from '@domain/provisioning/failures.js';
import type { DirectoryPerson } from '@domain/provisioning/user.js';
import { ok, type Result } from '@domain/result.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { toSql, type Columns } from './filter-sql.js';

export type UserRow = {
  readonly id: string;
  readonly member_id: string;
  readonly user_name: string;
  readonly external_id: string | null;
  readonly display_name: string | null;
  readonly active: boolean;
  readonly in_groups: boolean;
  readonly resource: JsonObject;
  readonly revision: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};

const columns = `id, member_id, user_name, external_id, display_name, active, in_groups, resource, revision, created_at, updated_at`;
const ofDirectory = `organization_id = tenant_organization() and provider_id = $1`;

const email: Columns = {
  value: { kind: 'text', sql: `e.value ->> 'value'` },
  type: { kind: 'text', sql: `e.value ->> 'type'` },
  primary: { kind: 'boolean', sql: `(e.value ->> 'primary')::boolean` },
};
const emails = {
  kind: 'many',
  value: { kind: 'text', sql: 'e.value' },
  has: (condition: string) => `exists (select from unnest(emails) as e (value) where ${condition})`,
  holds: (parameter: string) => `emails @> array[lower(${parameter}::text)]`,
  within: {},
} as const;

const searchable: Columns = {
  id: { kind: 'id', sql: 'id', read: (text) => fromPublicId('directoryUser', text) },
  userName: { kind: 'text', sql: 'user_name' },
  externalId: { kind: 'text', sql: 'external_id', exact: true },
  displayName: { kind: 'text', sql: 'display_name' },
  active: { kind: 'boolean', sql: 'active' },
  'emails.value': emails,
  emails: {
    ...emails,
    has: (condition) => `exists (select from jsonb_array_elements(coalesce(resource -> 'emails', '[]')) as e where ${condition})`,
    value: email['value']!,
    within: email,
  },
};

/** `startIndex` counts from 1. */
export type Asked = { readonly filter: Filter | null; readonly startIndex: number; readonly count: number };
export type Found<Row> = { readonly total: number; readonly rows: readonly Row[] };

/** One page of those that a filter means, oldest first, and how many there are. */
export async function listUsers(tx: ReadTx, providerId: string, { filter, startIndex, count }: Asked): Promise<Result<Found<UserRow>, ScimInvalid>> {
  const condition = toSql(filter, searchable, 2);
  if (!condition.ok) return condition;
  const { sql, values } = condition.value;
  const [total] = await tx.query<{ total: number }[]>(`select count(*)::int as total from directory_user where ${ofDirectory} and ${sql}`, [providerId, ...values]);
  const page = [`$${values.length + 2}`, `$${values.length + 3}`] as const;
  const rows =
    count === 0
      ? []
      : await tx.query<UserRow[]>(`select ${columns} from directory_user where ${ofDirectory} and ${sql} order by id limit ${page[0]} offset ${page[1]}`, [
          providerId,
          ...values,
          count,
          startIndex - 1,
        ]);
  return ok({ total: total?.total ?? 0, rows });
}

export async function findUser(tx: ReadTx, providerId: string, id: string): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow[]>(`select ${columns} from directory_user where ${ofDirectory} and id = $2`, [providerId, id]);
  return row ?? null;
}

/** Under the organization's lock, which every change takes. */
export const findUsers = (tx: ReadTx, providerId: string, ids: readonly string[]): Promise<UserRow[]> =>
  tx.query<UserRow[]>(`select ${columns} from directory_user where ${ofDirectory} and id = any ($2) order by member_id`, [providerId, ids]);

/** Those among `ids` that there are. */
export async function findUserIds(tx: ReadTx, providerId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ id: string }[]>(`select id from directory_user where ${ofDirectory} and id = any ($2)`, [providerId, ids]);
  return rows.map(({ id }) => id);
}

export async function isNameTaken(tx: ReadTx, providerId: string, userName: string, exceptId: string | null): Promise<boolean> {
  const rows = await tx.query<unknown[]>(`select 1 from directory_user where ${ofDirectory} and lower(user_name) = lower($2) and id is distinct from $3`, [
    providerId,
    userName,
    exceptId,
  ]);
  return rows.length > 0;
}

/** Whether some directory of the organization tells of this member. */
export async function isTold(tx: ReadTx, memberId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(`select 1 from directory_user where organization_id = tenant_organization() and member_id = $1`, [memberId]);
  return rows.length > 0;
}

export async function findUserOfMember(tx: ReadTx, providerId: string, memberId: string): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow[]>(`select ${columns} from directory_user where ${ofDirectory} and member_id = $2`, [providerId, memberId]);
  return row ?? null;
}

type NewUser = { readonly id: string; readonly providerId: string; readonly memberId: string; readonly inGroups: boolean; readonly person: DirectoryPerson };

export async function insertUser(tx: Tx, { id, providerId, memberId, inGroups, person }: NewUser): Promise<UserRow> {
  const [row] = await tx.query<UserRow[]>(
    `insert into directory_user (organization_id, provider_id, id, member_id, in_groups, user_name, external_id, display_name, emails, active, resource)
     values (tenant_organization(), $1, $2, $3, $4, $5, $6, $7, array(select lower(e) from unnest($8::text[]) e), $9, $10) returning ${columns}`,
    [providerId, id, memberId, inGroups, person.userName, person.externalId, person.displayName, person.emails, person.active, JSON.stringify(person.resource)],
  );
  return row!;
}

export async function updateUser(tx: Tx, id: string, person: DirectoryPerson): Promise<UserRow> {
  const [[row]] = await tx.query<[[UserRow], number]>(
    `update directory_user set user_name = $2, external_id = $3, display_name = $4, emails = array(select lower(e) from unnest($5::text[]) e), active = $6, resource = $7,
       revision = revision + 1, updated_at = clock_timestamp()
     where organization_id = tenant_organization() and id = $1 returning ${columns}`,
    [id, person.userName, person.externalId, person.displayName, person.emails, person.active, JSON.stringify(person.resource)],
  );
  return row;
}

/** The user stands for another member from now on. */
export async function relinkUser(tx: Tx, id: string, memberId: string): Promise<UserRow> {
  const [[row]] = await tx.query<[[UserRow], number]>(`update directory_user set member_id = $2 where organization_id = tenant_organization() and id = $1 returning ${columns}`, [
    id,
    memberId,
  ]);
  return row;
}

export const deleteUser = (tx: Tx, id: string): Promise<unknown> => tx.query(`delete from directory_user where organization_id = tenant_organization() and id = $1`, [id]);
