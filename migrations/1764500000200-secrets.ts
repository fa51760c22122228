import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** Data keys, wrapped by a master key that the database never sees. Number 1 is made at an organization's first use. */
export class Secrets1764500000200 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table organization_key (
        organization_id uuid not null,
        number integer not null,
        wrapped bytea not null,
        master_key_id text not null,
        created_at timestamptz not null default clock_timestamp(),
        constraint organization_key_is_numbered primary key (organization_id, number),
        constraint organization_key_counts_from_one check (number >= 1)
      )`);
    for (const sql of protectTable('organization_key', 'organization')) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table organization_key`);
  }
}
