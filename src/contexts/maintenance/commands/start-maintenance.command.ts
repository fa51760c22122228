import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { serviceScope } from '@engine/service-identity.js';
import { admitServiceExecution } from '@engine/services.js';
import { transact } from '@platform/database/transact.js';
import { maintenance, nodeSweep, type NodeSweepCursor } from '../sagas/node-sweep.js';

/** Makes sure that the standing work is there. Answers whether it was missing. */
export class StartMaintenanceCommand extends Command<boolean> {
  constructor(readonly everyMs: number) {
    super();
  }
}

@CommandHandler(StartMaintenanceCommand)
export class StartMaintenanceHandler implements ICommandHandler<StartMaintenanceCommand> {
  constructor(@InjectDataSource('worker') private readonly db: DataSource) {}

  async execute({ everyMs }: StartMaintenanceCommand): Promise<boolean> {
    const subjectId = serviceScope(maintenance.service);
    const started = await transact(this.db, maintenance.context, async (tx) => {
      // Workers that start together find one open execution, and not none: the second looks after the first has committed.
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('openbot:maintenance', 0))`);
      const open = await tx.query<unknown[]>(
        `select 1 from execution where organization_id = tenant_organization() and project_id = tenant_project() and subject_id = $1 and ended_at is null`,
        [subjectId],
      );
      if (open.length > 0) return ok(false);
      const cursor: NodeSweepCursor = { everyMs, nextAt: null, seen: {} };
      return ok(await admitServiceExecution(tx, maintenance, { ...nodeSweep, cursor, subjectId, delayMs: everyMs }));
    });
    return started.ok && started.value;
  }
}
