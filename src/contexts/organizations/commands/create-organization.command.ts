import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { OrganizationExists } from '@domain/organizations/member.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import { CreateOrganizationCommand } from '../public/create-organization.command.js';

@CommandHandler(CreateOrganizationCommand)
export class CreateOrganizationHandler implements ICommandHandler<CreateOrganizationCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  /** The transaction's tenant is the organization that it makes. Two at once meet at the first insert: the second waits for the first's commit. */
  execute({ wanted: { organization, project, owner } }: CreateOrganizationCommand): Promise<Result<null, OrganizationExists>> {
    return transact(this.db, { organizationId: organization.id, projectId: null }, async (tx) => {
      const made = await tx.query<unknown[]>(`insert into organization (id, name) values ($1, $2) on conflict do nothing returning id`, [organization.id, organization.name]);
      if (made.length === 0) return fail({ _tag: 'OrganizationExists' });
      await tx.query(`insert into project (organization_id, id, name) values ($1, $2, $3)`, [organization.id, project.id, project.name]);
      await tx.query(`insert into member (organization_id, id, name, email, role) values ($1, $2, $3, $4, 'owner')`, [organization.id, owner.id, owner.name, owner.email]);
      // Whoever founds a tenant stands outside it: an operator, or the start of a development server.
      await this.commands.execute(
        new RecordAuditCommand(
          tx,
          { kind: 'operator' },
          { action: 'organization.created', target: organization.id, detail: {} },
          { action: 'project.created', target: project.id, detail: {} },
          { action: 'member.created', target: owner.id, detail: { kind: 'person', role: 'owner' } },
        ),
      );
      return ok(null);
    });
  }
}
