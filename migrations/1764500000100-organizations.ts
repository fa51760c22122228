import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** The tenant itself: the one table whose own id is compared with the transaction's organization. */
const organization = [
  `create table organization (
    id uuid constraint organization_is_named_by_id primary key constraint organization_is_not_the_platform check (id <> '00000000-0000-0000-0000-000000000000'),
    name text not null constraint organization_name_is_short check (char_length(name) between 1 and 100),
    created_at timestamptz not null default clock_timestamp()
  )`,
  `alter table organization enable row level security`,
  `alter table organization force row level security`,
  `create policy organization_tenant on organization to openbot_app using (id = tenant_organization()) with check (id = tenant_organization())`,
  `grant select, insert, update, delete on organization to openbot_app`,
];

/** The earliest is the organization's default: the one in which a request without a project acts. */
const project = [
  `create table project (
    organization_id uuid not null constraint project_belongs_to_organization references organization,
    id uuid not null,
    name text not null constraint project_name_is_short check (char_length(name) between 1 and 100),
    created_at timestamptz not null default clock_timestamp(),
    constraint project_is_named_by_id primary key (organization_id, id)
  )`,
  ...protectTable('project', 'organization'),
];

const member = [
  `create table member (
    organization_id uuid not null constraint member_belongs_to_organization references organization,
    id uuid not null,
    name text not null constraint member_name_is_short check (char_length(name) between 1 and 100),
    email text constraint member_email_is_short check (char_length(email) between 3 and 254),
    role text not null constraint member_role_is_known check (role in ('owner', 'member')),
    suspended_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    constraint member_is_named_by_id primary key (organization_id, id)
  )`,
  `create unique index member_email_is_taken_once on member (organization_id, lower(email)) where email is not null`,
  ...protectTable('member', 'organization'),
];

/** Found by the part of its text that is no secret, proven by the hash of the part that is. */
const userToken = [
  `create table user_token (
    organization_id uuid not null,
    id uuid not null,
    member_id uuid not null,
    project_id uuid not null,
    name text not null constraint user_token_name_is_short check (char_length(name) between 1 and 100),
    prefix text not null,
    hash bytea not null constraint user_token_hash_is_sha256 check (octet_length(hash) = 32),
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint user_token_is_named_by_id primary key (organization_id, id),
    constraint user_token_belongs_to_member foreign key (organization_id, member_id) references member,
    constraint user_token_acts_in_project foreign key (organization_id, project_id) references project
  )`,
  `create index user_token_is_found_by_prefix on user_token (organization_id, prefix)`,
  `create index user_token_is_listed_by_member on user_token (organization_id, member_id, created_at, id)`,
  ...protectTable('user_token', 'organization'),
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
    for (const sql of [...organization, ...project, ...member, ...userToken, ...memberSetting]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table member_setting, user_token, member, project, organization`);
  }
}
