import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ok } from '@domain/result.js';
import { stopProjectWork } from '@engine/executions.js';
import type { PhaseResult, PhaseRun } from '@engine/phase.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { closeAuditChain, saveProgress } from '../../queries/project-purges.js';
import { inProject, stopLimit, type ProjectPurgeCursor } from '../project-purge.js';

/** How long work that was stopped gets before the next look. */
const lookMs = 300;

export class StopProjectWork {
  constructor(readonly run: PhaseRun<ProjectPurgeCursor>) {}
}

type Leases = { readonly held: number; readonly unsettled: number };

/**
 * Things that a living process holds for the project, and all that nobody has confirmed to be closed. What a process left behind that is gone, nobody
 * will ever confirm.
 */
async function countLeases(tx: Tx): Promise<Leases> {
  const [row] = await tx.query<Leases[]>(
    `select count(*) filter (where l.state <> 'unknown' and lease_holder_lives(l.owner, l.process))::int as held, count(*)::int as unsettled from resource_lease l
     where l.organization_id = tenant_organization() and l.project_id = tenant_project() and l.closed_at is null`,
  );
  return row ?? { held: 0, unsettled: 0 };
}

/** Goes on once all work of the project has ended and no process holds anything for it; until then it stops what is left and looks again. */
@CommandHandler(StopProjectWork)
export class StopProjectWorkHandler implements ICommandHandler<StopProjectWork> {
  constructor(private readonly wake: WakeChannel) {}

  async execute({ run }: StopProjectWork): PhaseResult {
    const { cursor } = run.execution;
    const { projectId } = cursor;
    let touched: readonly string[] = [];
    let isQuiet = false;
    const again = { ...cursor, nextAt: run.wake.now.getTime() + lookMs };
    await run.transact(again, {}, async (tx) => {
      const stopped = await stopProjectWork(tx, projectId, stopLimit);
      const { held, unsettled } = await inProject(tx, projectId, () => countLeases(tx));
      touched = stopped.touched;
      isQuiet = !stopped.open && held === 0;
      if (isQuiet) await closeAuditChain(tx, projectId);
      await saveProgress(tx, projectId, { state: 'stopping', callsSettled: stopped.settled, leasesLeft: unsettled });
    });
    this.wake.publish(touched);
    if (isQuiet) run.finish({ ...cursor, stage: 'objects', nextAt: null });
    return ok(undefined);
  }
}
