import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { OrganizationExists } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { CreateOrganizationCommand } from '../public/create-organization.command.js';

@CommandHandler(CreateOrganizationCommand)
export class CreateOrganizationHandler implements ICommandHandler<CreateOrganizationCommand> {
  constructor(private readonly db: DataSource) {}

  /** The transaction's tenant is the organization that it makes. Two at once meet at the first insert: the second waits for the first's commit. */
  execute({ wanted: { organization, project, owner } }: CreateOrganizationCommand): Promise<Result<null, OrganizationExists>> {
    return transact(this.db, { organizationId: organization.id, projectId: null }, async (tx) => {
      const made = await tx.query<unknown[]>(`insert into organization (id, name) values ($1, $2) on conflict do nothing returning id`, [organization.id, organization.name]);
      if (made.length === 0) return fail({ _tag: 'OrganizationExists' });
      await tx.query(`insert into project (organization_id, id, name) values ($1, $2, $3)`, [organization.id, project.id, project.name]);
      await tx.query(`insert into member (organization_id, id, name, email, role) values ($1, $2, $3, $4, 'owner')`, [organization.id, owner.id, owner.name, owner.email]);
      return ok(null);
    });
  }
}
