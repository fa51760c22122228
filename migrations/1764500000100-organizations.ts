import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** The tenant itself: the one table whose own id is compared with the transaction's organization. */
const organization = [
  `create table organization (
    id uuid constraint organization_is_named_by_id primary key constraint organization_is_not_the_platform check (id <> '00000000-0000-0000-0000-000000000000'),
    name text not null constraint organization_name_is_short check (char_length(name) between 1 and 100),
    revision integer not null default 1,
    created_at timestamptz not null default clock_timestamp()
  )`,
  `alter table organization enable row level security`,
  `alter table organization force row level security`,
  `create policy organization_tenant on organization to openbot_app using (id = tenant_organization()) with check (id = tenant_organization())`,
  `grant select, insert, update, delete on organization to openbot_app`,
  // The operator is told before a second organization of one name is made; no tenant can ask.
  `create policy organization_engine on organization for select to openbot_engine using (true)`,
  `grant select on organization to openbot_engine`,
  `create function organization_name_taken(p_name text) returns boolean language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select exists (select from organization where lower(name) = lower(p_name))
  $$`,
  `alter function organization_name_taken(text) owner to openbot_engine`,
  `revoke all on function organization_name_taken(text) from public`,
  `grant execute on function organization_name_taken(text) to openbot_owner`,
];

/** The earliest is the organization's default: the one in which a request without a project acts. */
const project = [
  `create table project (
    organization_id uuid not null constraint project_belongs_to_organization references organization,
    id uuid not null,
    name text not null constraint project_name_is_short check (char_length(name) between 1 and 100),
    revision integer not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    constraint project_is_named_by_id primary key (organization_id, id)
  )`,
  `create index project_is_listed_by_age on project (organization_id, created_at, id)`,
  ...protectTable('project', 'organization'),
];

/**
 * A principal of an organization: a person, a service account, or the mirror of an API key in one project. What it was removed from it does nothing in
 * any more; the row stays, because what it made and did names it. A mirror has no role: its key has scopes, and what of them counts is its maker's.
 */
const member = [
  `create table member (
    organization_id uuid not null constraint member_belongs_to_organization references organization,
    id uuid not null,
    kind text not null default 'person' constraint member_kind_is_known check (kind in ('person', 'service_account', 'api_key')),
    name text not null constraint member_name_is_short check (char_length(name) between 1 and 100),
    email text constraint member_email_is_short check (char_length(email) between 3 and 254),
    role text constraint member_role_is_known check (role in ('owner', 'admin', 'member', 'viewer', 'auditor')),
    key_id uuid,
    key_project_id uuid,
    suspended_at timestamptz,
    removed_at timestamptz,
    revision integer not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    constraint member_is_named_by_id primary key (organization_id, id),
    constraint member_mirrors_one_key_in_one_project check (num_nonnulls(key_id, key_project_id) = case kind when 'api_key' then 2 else 0 end),
    constraint member_has_a_role_or_is_a_mirror check ((role is null) = (kind = 'api_key')),
    constraint member_only_people_have_email check (email is null or kind = 'person'),
    constraint member_mirror_is_in_project foreign key (organization_id, key_project_id) references project
  )`,
  `create unique index member_mirror_is_one_each on member (organization_id, key_id, key_project_id) where key_id is not null`,
  `create index member_mirror_is_found_by_project on member (organization_id, key_project_id) where key_project_id is not null`,
  `create unique index member_email_is_taken_once on member (organization_id, lower(email)) where email is not null and removed_at is null`,
  ...protectTable('member', 'organization'),
];

/** What a member may do in one project besides what they may do everywhere. */
const projectRole = [
  `create table project_role (
    organization_id uuid not null,
    project_id uuid not null,
    member_id uuid not null,
    role text not null constraint project_role_is_known check (role in ('admin', 'member', 'viewer')),
    created_at timestamptz not null default clock_timestamp(),
    constraint project_role_is_one_each primary key (organization_id, project_id, member_id),
    constraint project_role_is_in_project foreign key (organization_id, project_id) references project,
    constraint project_role_is_of_member foreign key (organization_id, member_id) references member
  )`,
  `create index project_role_is_found_by_member on project_role (organization_id, member_id)`,
  ...protectTable('project_role', 'organization'),
];

/**
 * Found by the part of its text that is no secret, proven by the hash of the part that is. The earlier secret counts until \`old_until\`, so that a
 * rotation needs no moment in which all callers change at once; the id stays, and with it everything that was done with the credential.
 * \`scopes\` and \`projects\` narrow what it may do and where; null narrows nothing. It never may do more than \`created_by\` may at that moment.
 */
const credential = [
  `create table credential (
    organization_id uuid not null,
    id uuid not null,
    kind text not null constraint credential_kind_is_known check (kind in ('user_token', 'api_key', 'session')),
    member_id uuid,
    created_by uuid not null,
    name text not null constraint credential_name_is_short check (char_length(name) between 1 and 100),
    scopes text[],
    projects uuid[],
    prefix text not null,
    hash bytea not null constraint credential_hash_is_sha256 check (octet_length(hash) = 32),
    old_prefix text,
    old_hash bytea constraint credential_old_hash_is_sha256 check (octet_length(old_hash) = 32),
    old_until timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    rotated_at timestamptz,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint credential_is_named_by_id primary key (organization_id, id),
    constraint credential_has_its_member check ((member_id is null) = (kind = 'api_key')),
    constraint credential_old_secret_is_whole check (num_nulls(old_prefix, old_hash, old_until) in (0, 3)),
    constraint credential_belongs_to_member foreign key (organization_id, member_id) references member,
    constraint credential_has_its_maker foreign key (organization_id, created_by) references member
  )`,
  `create index credential_is_found_by_prefix on credential (organization_id, prefix)`,
  `create index credential_is_found_by_old_prefix on credential (organization_id, old_prefix) where old_prefix is not null`,
  `create index credential_is_listed_by_member on credential (organization_id, member_id, created_at, id)`,
  `alter table member add constraint member_mirrors_a_key foreign key (organization_id, key_id) references credential`,
  ...protectTable('credential', 'organization'),
];

/** No row yet is version 0. The bot is no foreign key: a deleted bot leaves the setting, and reads as none. */
const memberSetting = [
  `create table member_setting (
    organization_id uuid not null,
    member_id uuid not null,
    version integer not null default 0 constraint member_setting_version_counts check (version >= 0),
    default_bot_id uuid,
    constraint member_setting_is_one_each primary key (organization_id, member_id),
    constraint member_setting_belongs_to_member foreign key (organization_id, member_id) references member
  )`,
  ...protectTable('member_setting', 'organization'),
];

export class Organizations1764500000100 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...organization, ...project, ...member, ...projectRole, ...credential, ...memberSetting]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function organization_name_taken(text)`);
    await q.query(`alter table member drop constraint member_mirrors_a_key`);
    await q.query(`drop table member_setting, credential, project_role, member, project, organization`);
  }
}
