import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** A deleted bot keeps its row, because chats and receipts name it; its instructions go. */
const bot = [
  `create table bot (
    organization_id uuid not null,
    project_id uuid not null,
    id uuid not null,
    owner_id uuid not null,
    name text not null constraint bot_name_is_short check (char_length(name) between 1 and 100),
    instructions bytea,
    model jsonb constraint bot_model_is_selection check (model ?& array['provider', 'model']),
    model_follows_environment boolean not null default false,
    max_steps integer not null constraint bot_max_steps_is_bounded check (max_steps between 1 and 200),
    revision integer not null default 1 constraint bot_revision_counts check (revision >= 1),
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    constraint bot_is_named_by_id primary key (organization_id, project_id, id),
    constraint bot_belongs_to_project foreign key (organization_id, project_id) references project,
    constraint bot_has_owner foreign key (organization_id, owner_id) references member,
    constraint bot_deleted_has_no_instructions check (deleted_at is null or instructions is null)
  )`,
  `create index bot_is_listed_by_age on bot (organization_id, project_id, created_at, id) where deleted_at is null`,
  ...protectTable('bot', 'project'),
];

const botGrant = [
  `create table bot_grant (
    organization_id uuid not null,
    project_id uuid not null,
    bot_id uuid not null,
    member_id uuid not null,
    rights text[] not null constraint bot_grant_rights_are_known check (cardinality(rights) > 0 and rights <@ array['read', 'delegate', 'change']),
    created_at timestamptz not null default clock_timestamp(),
    constraint bot_grant_is_one_each primary key (organization_id, project_id, bot_id, member_id),
    constraint bot_grant_opens_bot foreign key (organization_id, project_id, bot_id) references bot on delete cascade,
    constraint bot_grant_is_for_member foreign key (organization_id, member_id) references member
  )`,
  `create index bot_grant_is_found_by_member on bot_grant (organization_id, project_id, member_id, bot_id)`,
  ...protectTable('bot_grant', 'project'),
];

export class Bots1764500000400 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...bot, ...botGrant]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table bot_grant, bot`);
  }
}
