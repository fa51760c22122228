import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a master key answers to a constant, by the key's id: enough to know it again, and nothing of the key. Read before any role is touched. */
export class MasterKeyCheck1764500000210 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table master_key_check (
        master_key_id text not null,
        value bytea not null,
        created_at timestamptz not null default clock_timestamp(),
        constraint master_key_check_is_named primary key (master_key_id),
        constraint master_key_check_is_a_mac check (octet_length(value) = 32)
      )`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table master_key_check`);
  }
}
