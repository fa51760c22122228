import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** A deleted connection keeps its row, because bots and usage name it; its key goes. */
const modelConnection = [
  `create table model_connection (
    organization_id uuid not null constraint model_connection_belongs_to_organization references organization,
    id uuid not null,
    kind text not null constraint model_connection_kind_is_known check (kind in ('openai', 'anthropic', 'openai-compatible')),
    name text not null constraint model_connection_name_is_short check (char_length(name) between 1 and 100),
    base_url text constraint model_connection_base_url_is_short check (char_length(base_url) between 1 and 2000),
    api text constraint model_connection_api_is_known check (api in ('responses', 'chat')),
    sealed_key bytea,
    models jsonb not null constraint model_connection_lists_models check (jsonb_typeof(models) = 'array'),
    revision integer not null default 1 constraint model_connection_revision_counts check (revision >= 1),
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    constraint model_connection_is_named_by_id primary key (organization_id, id),
    constraint model_connection_speaks_an_api check ((kind = 'anthropic') = (api is null)),
    constraint model_connection_compatible_has_address check (kind <> 'openai-compatible' or base_url is not null),
    constraint model_connection_vendor_has_key check (kind = 'openai-compatible' or sealed_key is not null or deleted_at is not null),
    constraint model_connection_deleted_has_no_key check (deleted_at is null or sealed_key is null)
  )`,
  `create unique index model_connection_name_is_taken_once on model_connection (organization_id, lower(name)) where deleted_at is null`,
  ...protectTable('model_connection', 'organization'),
];

export class Models1764500000300 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of modelConnection) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table model_connection`);
  }
}
