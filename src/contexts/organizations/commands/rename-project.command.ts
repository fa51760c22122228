import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ProjectConflict, ProjectNotFound } from '@domain/organizations/project.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import { findProject, type ProjectRow } from '../queries/organization.js';

export type RenameProjectFailure = ProjectNotFound | ProjectConflict;

export class RenameProjectCommand extends Command<Result<ProjectRow, RenameProjectFailure>> {
  constructor(
    readonly identity: Identity,
    readonly projectId: string,
    readonly change: { readonly name: string; readonly expected: number },
  ) {
    super();
  }
}

@CommandHandler(RenameProjectCommand)
export class RenameProjectHandler implements ICommandHandler<RenameProjectCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, projectId, change: { name, expected } }: RenameProjectCommand): Promise<Result<ProjectRow, RenameProjectFailure>> {
    return transact<Result<ProjectRow, RenameProjectFailure>>(this.db, identity.context, async (tx) => {
      await this.commands.execute(new LockRightsCommand(tx, identity, 'projects.change'));
      const locked = await lockOwnProject(tx, identity, projectId, expected);
      if (!locked.ok) return locked;
      await tx.query(`update project set name = $2, revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [projectId, name]);
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'project.renamed', target: projectId, detail: { revision: expected + 1 } }));
      return ok({ ...locked.value, name, revision: expected + 1 });
    });
  }
}

/** Locks the project in which the caller acts, at the revision that they read. Any other is missing: what they may do there is not known here. */
export async function lockOwnProject(tx: Tx, { context }: Identity, projectId: string, expected: number): Promise<Result<ProjectRow, RenameProjectFailure>> {
  if (projectId !== context.projectId) return fail({ _tag: 'ProjectNotFound' });
  await tx.query(`select 1 from project where organization_id = tenant_organization() and id = $1 for no key update`, [projectId]);
  const project = await findProject(tx, projectId);
  if (!project) return fail({ _tag: 'ProjectNotFound' });
  return project.revision === expected ? ok(project) : fail({ _tag: 'ProjectConflict', revision: project.revision });
}
