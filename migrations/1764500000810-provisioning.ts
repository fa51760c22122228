import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** The word of a directory that a member is gone, beside a suspension by people: whoever is either may do nothing. */
const stop = [
  `alter table member add column stopped_at timestamptz, add column stopped_by uuid,
    add constraint member_stop_is_somebodys check (num_nulls(stopped_at, stopped_by) in (0, 2)),
    add constraint member_is_stopped_by_provider foreign key (organization_id, stopped_by) references identity_provider`,
  `create index member_stop_is_found_by_provider on member (organization_id, stopped_by) where stopped_by is not null`,
];

/** What the directory of an identity provider proves itself by. It is nobody's: what it says stays, whatever becomes of whoever made it. */
const token = [
  `create table scim_token (
    organization_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    name text not null constraint scim_token_name_is_short check (char_length(name) between 1 and 100),
    prefix text not null,
    hash bytea not null constraint scim_token_hash_is_sha256 check (octet_length(hash) = 32),
    created_by uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    last_used_at timestamptz,
    constraint scim_token_is_named_by_id primary key (organization_id, id),
    constraint scim_token_is_of_provider foreign key (organization_id, provider_id) references identity_provider,
    constraint scim_token_has_its_maker foreign key (organization_id, created_by) references member
  )`,
  `create index scim_token_is_found_by_prefix on scim_token (organization_id, prefix)`,
  `create index scim_token_is_listed_by_provider on scim_token (organization_id, provider_id, id)`,
  ...protectTable('scim_token', 'organization'),
];

/** What a directory says of a person. \`in_groups\`: it has said once that they are in one, or they need one: from then on their groups say what they are. */
const user = [
  `create table directory_user (
    organization_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    member_id uuid not null,
    user_name text not null constraint directory_user_name_is_short check (char_length(user_name) between 1 and 256),
    external_id text constraint directory_user_external_id_is_short check (char_length(external_id) <= 256),
    display_name text constraint directory_user_display_name_is_short check (char_length(display_name) <= 256),
    emails text[] not null,
    active boolean not null,
    in_groups boolean not null,
    resource jsonb not null,
    revision int not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint directory_user_is_named_by_id primary key (organization_id, id),
    constraint directory_user_is_one_of_a_member unique (organization_id, member_id),
    constraint directory_user_is_of_provider foreign key (organization_id, provider_id) references identity_provider,
    constraint directory_user_is_a_member foreign key (organization_id, member_id) references member
  )`,
  `create unique index directory_user_name_is_taken_once on directory_user (organization_id, provider_id, lower(user_name))`,
  `create index directory_user_is_listed_by_age on directory_user (organization_id, provider_id, id)`,
  `create index directory_user_is_found_by_external_id on directory_user (organization_id, provider_id, external_id)`,
  `create index directory_user_is_found_by_address on directory_user using gin (emails)`,
  ...protectTable('directory_user', 'organization'),
];

const group = [
  `create table directory_group (
    organization_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    display_name text not null constraint directory_group_name_is_short check (char_length(display_name) between 1 and 256),
    external_id text constraint directory_group_external_id_is_short check (char_length(external_id) <= 256),
    revision int not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint directory_group_is_named_by_id primary key (organization_id, id),
    constraint directory_group_is_of_provider foreign key (organization_id, provider_id) references identity_provider
  )`,
  `create index directory_group_is_listed_by_age on directory_group (organization_id, provider_id, id)`,
  `create index directory_group_is_found_by_name on directory_group (organization_id, provider_id, lower(display_name))`,
  `create index directory_group_is_found_by_external_id on directory_group (organization_id, provider_id, external_id)`,
  ...protectTable('directory_group', 'organization'),
  `create table directory_membership (
    organization_id uuid not null,
    group_id uuid not null,
    user_id uuid not null,
    constraint directory_membership_is_one_each primary key (organization_id, group_id, user_id),
    constraint directory_membership_is_in_group foreign key (organization_id, group_id) references directory_group on delete cascade,
    constraint directory_membership_is_of_user foreign key (organization_id, user_id) references directory_user on delete cascade
  )`,
  `create index directory_membership_is_found_by_user on directory_membership (organization_id, user_id)`,
  ...protectTable('directory_membership', 'organization'),
];

export class Provisioning1764500000810 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...stop, ...token, ...user, ...group]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table directory_membership, directory_group, directory_user, scim_token`);
    await q.query(`alter table member drop column stopped_at, drop column stopped_by`);
  }
}
