import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { ActiveProject, LastProject, ProjectConflict, ProjectNotFound } from '@domain/organizations/project.js';
import { fail, ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand, type KeyedCommand } from '@engine/admit.js';
import { stopProjectWork } from '@engine/executions.js';
import { organizationContext } from '@engine/service-identity.js';
import { admitServiceExecution } from '@engine/services.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindActiveProjectQuery } from '@contexts/sign-in/public/find-active-project.query.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import { countProjects, findProject, lockOrganization, type ProjectRow } from '../queries/organization.js';
import { insertPurge } from '../queries/project-purges.js';
import { newPurgeCursor, projectPurge, projects, stopLimit } from '../sagas/project-purge.js';

export type DeleteProjectFailure = ProjectNotFound | ProjectConflict | LastProject | ActiveProject | ExecutionKeyConflict;
/** Of the work that purges the project; `sequence` is its first event. */
export type DeleteProjectReceipt = { readonly executionId: string; readonly projectId: string; readonly sequence: number };
type Deleted = { readonly receipt: DeleteProjectReceipt; readonly touched: readonly string[] };

/**
 * Ends a project for everybody at once, and admits the work that removes everything in it. `command: null`: the request carried no key, so that sending
 * it again finds no project.
 */
export class DeleteProjectCommand extends Command<Result<DeleteProjectReceipt, DeleteProjectFailure>> {
  constructor(
    readonly identity: Identity,
    readonly command: KeyedCommand | null,
    readonly projectId: string,
    readonly expected: number,
  ) {
    super();
  }
}

@CommandHandler(DeleteProjectCommand)
export class DeleteProjectHandler implements ICommandHandler<DeleteProjectCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  /** In the organization's context: a receipt of the project's own would go with it. */
  async execute({ identity, command, projectId, expected }: DeleteProjectCommand): Promise<Result<DeleteProjectReceipt, DeleteProjectFailure>> {
    const { organizationId } = identity.context;
    const deleted = await transact<Result<Deleted, DeleteProjectFailure>>(this.db, organizationContext(organizationId), async (tx) => {
      const taken = command && (await takeCommand<DeleteProjectReceipt>(tx, command));
      if (taken && !taken.ok) return taken;
      if (taken?.value) return ok({ receipt: taken.value, touched: [] });
      // Nobody holds up what is not theirs.
      if (projectId !== identity.context.projectId) return fail({ _tag: 'ProjectNotFound' });
      // Before every other lock: who writes in the project holds it, and may wait for the organization.
      await tx.query(`select exclude_writers($1)`, [projectId]);
      const locked = await this.lock(tx, identity, projectId, expected);
      if (!locked.ok) return locked;
      const { receipt, touched } = await close(tx, identity, locked.value);
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'project.purge_requested', target: projectId, detail: {} }));
      if (command) await settleCommand(tx, command, receipt);
      return ok({ receipt, touched });
    });
    if (!deleted.ok) return deleted;
    this.wake.publish(deleted.value.touched);
    return ok(deleted.value.receipt);
  }

  /** Judged by the rights and projects that are there now: of two who delete the last two at once, one is refused. */
  private async lock(tx: Tx, identity: Identity, projectId: string, expected: number): Promise<Result<ProjectRow, DeleteProjectFailure>> {
    await lockOrganization(tx);
    const project = await findProject(tx, projectId);
    if (!project) return fail({ _tag: 'ProjectNotFound' });
    await this.commands.execute(new LockRightsCommand(tx, identity, 'projects.delete'));
    if (project.revision !== expected) return fail({ _tag: 'ProjectConflict', revision: project.revision });
    if ((await countProjects(tx)) === 1) return fail({ _tag: 'LastProject' });
    const active = await this.queries.execute(new FindActiveProjectQuery(identity.tokenId, tx));
    return active === projectId ? fail({ _tag: 'ActiveProject' }) : ok(project);
  }
}

/** From here on the project is missing for everybody, nothing begins in it, and what goes on there is stopped: the first of it here, the rest by the purge. */
async function close(tx: Tx, { context, memberId, tokenId }: Identity, { id, name }: ProjectRow): Promise<Deleted> {
  const executionId = uuidv7();
  await tx.query(`update project set deleting_at = clock_timestamp(), revision = revision + 1 where organization_id = tenant_organization() and id = $1`, [id]);
  await admitServiceExecution(tx, projects(context.organizationId), { ...projectPurge, id: executionId, cursor: newPurgeCursor(id), subjectId: id });
  const { touched, settled } = await stopProjectWork(tx, id, stopLimit);
  await insertPurge(tx, { id, name, requestedBy: memberId, requestedWith: tokenId, executionId, callsSettled: settled });
  return { receipt: { executionId, projectId: id, sequence: 1 }, touched: [...touched, executionId] };
}
