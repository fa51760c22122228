import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tenant of a transaction as the policies read it. After a transaction the setting is '' and not null: both mean nobody. */
export class Tenancy1764500000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(
      `create function tenant_organization() returns uuid language sql stable parallel safe as $$ select nullif(current_setting('app.organization', true), '')::uuid $$`,
    );
    await q.query(`create function tenant_project() returns uuid language sql stable parallel safe as $$ select nullif(current_setting('app.project', true), '')::uuid $$`);
    await q.query(`revoke create on schema public from public`);
    await q.query(`grant usage on schema public to openbot_app, openbot_engine`);
    await q.query(`grant create on schema public to openbot_engine`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function tenant_project()`);
    await q.query(`drop function tenant_organization()`);
  }
}
