import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** A session is over at `expires_at` in any case, and at `idle_until` unless it is used before. What it came from is shown to its owner. */
const session = [
  `alter table credential
    add column idle_until timestamptz,
    add column user_agent text constraint credential_user_agent_is_short check (char_length(user_agent) <= 300),
    add column address text constraint credential_address_is_short check (char_length(address) <= 64),
    add constraint credential_idles_if_it_is_a_session check ((kind = 'session') = (idle_until is not null)),
    add constraint credential_session_ends check (kind <> 'session' or expires_at is not null)`,
];

/**
 * How a member signs in. It is the organization's: the same person in another has another, and nothing leads from one to the other. A password is for
 * break-glass accounts alone. The link sets one, once: a new link takes the place of the one before.
 */
const account = [
  `create table account (
    organization_id uuid not null,
    member_id uuid not null,
    break_glass boolean not null default false,
    password_hash text constraint account_password_is_argon2id check (password_hash like '$argon2id$%'),
    password_set_at timestamptz,
    link_prefix text,
    link_hash bytea constraint account_link_hash_is_sha256 check (octet_length(link_hash) = 32),
    link_until timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    constraint account_is_one_each primary key (organization_id, member_id),
    constraint account_password_has_its_time check (num_nulls(password_hash, password_set_at) in (0, 2)),
    constraint account_link_is_whole check (num_nulls(link_prefix, link_hash, link_until) in (0, 3)),
    constraint account_only_break_glass_has_a_password check (break_glass or num_nonnulls(password_hash, link_hash) = 0),
    constraint account_belongs_to_member foreign key (organization_id, member_id) references member
  )`,
  `create index account_is_found_by_link on account (organization_id, link_prefix) where link_prefix is not null`,
  ...protectTable('account', 'organization'),
];

/** Where there is exactly one organization, nobody needs to name it to sign in. Answers its id, or null, and nothing else of any. */
const soleOrganization = [
  `create function sole_organization(p_except uuid) returns uuid language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select case when count(*) = 1 then min(o.id::text)::uuid end from (select id from organization where id is distinct from p_except limit 2) o
  $$`,
  `alter function sole_organization(uuid) owner to openbot_engine`,
  `revoke all on function sole_organization(uuid) from public`,
  `grant execute on function sole_organization(uuid) to openbot_app`,
];

export class Accounts1764500000710 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...session, ...account, ...soleOrganization]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function sole_organization(uuid)`);
    await q.query(`drop table account`);
    await q.query(
      `alter table credential drop constraint credential_session_ends, drop constraint credential_idles_if_it_is_a_session, drop column idle_until, drop column user_agent, drop column address`,
    );
  }
}
