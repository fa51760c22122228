import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ok } from '@domain/result.js';
import type { PhaseResult, PhaseRun } from '@engine/phase.js';
import { ForgetProjectCommand } from '@contexts/sign-in/public/forget-project.command.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { saveProgress } from '../../queries/project-purges.js';
import { patiently } from '../patiently.js';
import type { ProjectPurgeCursor } from '../project-purge.js';

export class DropProject {
  constructor(readonly run: PhaseRun<ProjectPurgeCursor>) {}
}

/** The last row, and with it the last id of the project that anything but its receipt holds. */
@CommandHandler(DropProject)
export class DropProjectHandler implements ICommandHandler<DropProject> {
  constructor(
    private readonly commands: CommandBus,
    private readonly records: ErrorRecords,
  ) {}

  async execute({ run }: DropProject): PhaseResult {
    const { cursor } = run.execution;
    const { projectId } = cursor;
    const isWhole = cursor.failures.count === 0;
    await patiently(run, this.records, () =>
      run.transact({ ...cursor, nextAt: null, stage: isWhole ? 'done' : 'leftovers' }, {}, async (tx) => {
        await this.commands.execute(new ForgetProjectCommand(projectId, tx));
        await tx.query(`delete from project where organization_id = tenant_organization() and id = $1`, [projectId]);
        await saveProgress(tx, projectId, { state: isWhole ? 'completed' : 'leftovers' });
      }),
    );
    return ok(undefined);
  }
}
