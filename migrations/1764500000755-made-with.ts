import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The token that a credential was made with, and ends with. Null where a session made it, or the operator; and where it is older than this column:
 * those end by themselves and with their maker. Where that token's row goes with a project, what was made with it has ended before.
 */
const column = `alter table credential
  add column made_with uuid,
  add constraint credential_was_made_with_another foreign key (organization_id, made_with) references credential on delete set null (made_with),
  add constraint credential_is_not_made_with_itself check (made_with <> id),
  add constraint credential_session_is_made_with_none check (made_with is null or kind <> 'session')`;

export class MadeWith1764500000755 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(column);
    await q.query(`create index credential_is_found_by_what_made_it on credential (organization_id, made_with) where made_with is not null`);
    await q.query(`create index credential_is_found_by_maker on credential (organization_id, created_by)`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop index credential_is_found_by_maker`);
    await q.query(`alter table credential drop column made_with`);
  }
}
