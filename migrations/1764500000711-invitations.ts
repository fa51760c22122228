import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * Lets somebody in, once, with the address that it is bound to. Found and proven as a credential is. What it gives counts only as long as whoever made it
 * may give it. The row stays when it was used: it says who let whom in.
 */
const tables = [
  `create table invitation (
    organization_id uuid not null,
    id uuid not null,
    email text not null constraint invitation_email_is_short check (char_length(email) between 3 and 254),
    name text constraint invitation_name_is_short check (char_length(name) between 1 and 100),
    role text not null constraint invitation_role_is_known check (role in ('owner', 'admin', 'member', 'viewer', 'auditor')),
    password_sign_in boolean not null,
    invited_by uuid not null,
    prefix text not null,
    hash bytea not null constraint invitation_hash_is_sha256 check (octet_length(hash) = 32),
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    accepted_at timestamptz,
    member_id uuid,
    constraint invitation_is_named_by_id primary key (organization_id, id),
    constraint invitation_has_its_maker foreign key (organization_id, invited_by) references member,
    constraint invitation_made_a_member foreign key (organization_id, member_id) references member,
    constraint invitation_is_accepted_by_somebody check ((accepted_at is null) = (member_id is null)),
    constraint invitation_ends_once check (num_nonnulls(accepted_at, revoked_at) < 2)
  )`,
  `create unique index invitation_is_open_once_for_an_address on invitation (organization_id, lower(email)) where accepted_at is null and revoked_at is null`,
  `create index invitation_is_found_by_prefix on invitation (organization_id, prefix)`,
  ...protectTable('invitation', 'organization'),
  `create table invitation_project (
    organization_id uuid not null,
    invitation_id uuid not null,
    project_id uuid not null,
    role text not null constraint invitation_project_role_is_known check (role in ('admin', 'member', 'viewer')),
    constraint invitation_project_is_one_each primary key (organization_id, invitation_id, project_id),
    constraint invitation_project_is_of_invitation foreign key (organization_id, invitation_id) references invitation,
    constraint invitation_project_is_in_project foreign key (organization_id, project_id) references project
  )`,
  `create index invitation_project_is_found_by_project on invitation_project (organization_id, project_id)`,
  ...protectTable('invitation_project', 'organization'),
];

export class Invitations1764500000711 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of tables) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table invitation_project, invitation`);
  }
}
