import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whose work it is, in the open: the identity that the work acts with is sealed, and what is sealed cannot stand in a WHERE.
 * Null is a service's work, which no member sees. Written once, at the admission, so that steps stay HOT updates.
 */
export class ExecutionAccess1764500000050 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`alter table execution add column member_id uuid`);
    await q.query(`create index execution_member on execution (organization_id, project_id, member_id, id) where member_id is not null`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`alter table execution drop column member_id`);
  }
}
