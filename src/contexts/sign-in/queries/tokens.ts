import type { CredentialKind, MemberKind } from '@domain/access/credentials.js';
import type { OrganizationRole, ProjectRole } from '@domain/access/roles.js';
import type { CredentialState } from '@domain/sign-in/token.js';
import type { ReadTx } from '@engine/tx.js';

/** A credential, with who acts by it, who made it, and where: what a request pays for is one statement. */
export type CredentialRow = CredentialState & {
  /** Which of what was asked at once this answers, counted from 1. A bigint, so as text. */
  readonly asked_as: string;
  readonly id: string;
  readonly kind: CredentialKind;
  readonly name: string;
  readonly hash: Buffer;
  /** Of the secret before a rotation, while it still counts. */
  readonly old_hash: Buffer | null;
  readonly scopes: readonly string[] | null;
  readonly projects: readonly string[] | null;
  /** None: an API key that nothing was done with in this project yet. */
  readonly member_id: string | null;
  readonly member_kind: MemberKind | null;
  readonly role: OrganizationRole | null;
  readonly project_role: ProjectRole | null;
  readonly maker_role: OrganizationRole;
  readonly maker_project_role: ProjectRole | null;
  readonly project_id: string;
  readonly expires_at: Date | null;
  /** The last recorded use is none or more than a minute ago. */
  readonly use_is_old: boolean;
};

/** `projectId`: the project that the path of the request names, or null. */
export type AskedCredential = { readonly prefix: string; readonly projectId: string | null };

/**
 * `asked.project_id` is the project that the path of the request names, or null: then the first that the credential names, and for one
 * that names none the earliest. One that is not
 * there, or not the credential's, is as none: the route compares, and says that it has no such project.
 */
const credential = `
  select asked.place::text as asked_as, c.id, c.kind, c.name, c.hash, case when c.old_until > clock_timestamp() then c.old_hash end as old_hash, c.scopes, c.projects,
    coalesce(own.id, mirror.id) as member_id, coalesce(own.kind, mirror.kind) as member_kind, own.role, mine.role as project_role,
    maker.role as maker_role, theirs.role as maker_project_role, project.id as project_id,
    c.revoked_at is not null as revoked,
    c.expires_at, coalesce(least(c.expires_at, c.idle_until) <= clock_timestamp(), false) as expired,
    num_nonnulls(own.suspended_at, own.stopped_at, own.removed_at, mirror.suspended_at, mirror.removed_at, maker.suspended_at, maker.stopped_at, maker.removed_at) > 0 as suspended,
    coalesce(c.last_used_at < clock_timestamp() - interval '1 minute', true) as use_is_old
  from asked
  join credential c on c.organization_id = tenant_organization() and (c.prefix = asked.prefix or c.old_prefix = asked.prefix or c.id = asked.id)
  join member maker on maker.organization_id = c.organization_id and maker.id = c.created_by
  cross join lateral (
    select coalesce(
      (select p.id from project p where p.organization_id = c.organization_id and p.id = asked.project_id and p.deleting_at is null and (c.projects is null or p.id = any (c.projects))),
      (select p.id from project p where p.organization_id = c.organization_id and p.deleting_at is null and (c.projects is null or p.id = any (c.projects)) order by array_position(c.projects, p.id), p.created_at, p.id limit 1)) as id) project
  left join member own on own.organization_id = c.organization_id and own.id = c.member_id
  left join member mirror on mirror.organization_id = c.organization_id and mirror.key_id = c.id and mirror.key_project_id = project.id
  left join project_role mine on mine.organization_id = c.organization_id and mine.project_id = project.id and mine.member_id = own.id
  left join project_role theirs on theirs.organization_id = c.organization_id and theirs.project_id = project.id and theirs.member_id = maker.id
  where project.id is not null`;

/**
 * The credentials with these public prefixes, nearly always one for each. The joins are the one place that reads the tables of people and projects from
 * here: every request pays for them.
 */
export const findCredentials = (tx: ReadTx, asked: readonly AskedCredential[]): Promise<CredentialRow[]> =>
  tx.query<CredentialRow[]>(`with asked as (select null::uuid as id, * from unnest($1::text[], $2::uuid[]) with ordinality as each (prefix, project_id, place)) ${credential}`, [
    asked.map(({ prefix }) => prefix),
    asked.map(({ projectId }) => projectId),
  ]);

export async function findCredentialById(tx: ReadTx, id: string, projectId: string | null): Promise<CredentialRow | null> {
  const [row] = await tx.query<CredentialRow[]>(`with asked as (select $1::uuid as id, null as prefix, $2::uuid as project_id, 1 as place) ${credential}`, [id, projectId]);
  return row ?? null;
}
