import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import type { PhaseResult, PhaseRun } from '@engine/phase.js';
import type { Tx } from '@engine/tx.js';
import { read } from '@platform/database/transact.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { nextSlices, type Slice } from '../../policies/purge-plan.js';
import { countRemoved, saveProgress } from '../../queries/project-purges.js';
import { readPurgePlan } from '../../queries/purge-catalogue.js';
import { patiently } from '../patiently.js';
import { inProject, type ProjectPurgeCursor } from '../project-purge.js';

/** Tables are walked by their pages: no index is needed, and no batch reads what another has. One holds some thousand rows at most. */
const pagesAtOnce = 64;

export class PurgeRows {
  constructor(readonly run: PhaseRun<ProjectPurgeCursor>) {}
}

async function removeRows(tx: Tx, { emptied: { table, where, kept }, from, to }: Slice): Promise<number> {
  if (kept) {
    const [row] = await tx.query<{ removed: string }[]>(`select purge_kept_rows($1, $2, $3) as removed`, [table, from, to]);
    return Number(row?.removed ?? 0);
  }
  const pages = [from, to].map((page) => `(${page},0)`);
  const [, count] = await tx.query<[unknown, number]>(
    `delete from "${table}" t where t.ctid >= $1::tid and t.ctid < $2::tid and t.organization_id = tenant_organization() and (${where})`,
    pages,
  );
  return count;
}

/**
 * Some pages of the tables. When all tables were walked and rows were found, they are walked again: what a process that came late has left is found then,
 * and a project that goes on to its end has been seen empty.
 */
@CommandHandler(PurgeRows)
export class PurgeRowsHandler implements ICommandHandler<PurgeRows> {
  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly records: ErrorRecords,
  ) {}

  async execute({ run }: PurgeRows): PhaseResult {
    await patiently(run, this.records, () => this.walk(run));
    return ok(undefined);
  }

  private async walk(run: PhaseRun<ProjectPurgeCursor>): Promise<void> {
    const { cursor, context } = run.execution;
    const plan = await readPurgePlan(this.db);
    const tables = cursor.tables ?? plan.map(({ table }) => table);
    if (tables.length === 0) {
      const removed = await read(this.db, context, (tx) => countRemoved(tx, cursor.projectId));
      run.finish({ ...cursor, nextAt: null, tables: null, removed, stage: removed > cursor.removed ? 'rows' : 'project' });
      return;
    }
    const { slices, left } = nextSlices(plan, { tables, fromPage: cursor.fromPage }, pagesAtOnce);
    await run.transact({ ...cursor, nextAt: null, ...left }, {}, async (tx) => {
      const removed: Record<string, number> = {};
      await inProject(tx, cursor.projectId, async () => {
        for (const slice of slices) removed[slice.emptied.table] = await removeRows(tx, slice);
      });
      await saveProgress(tx, cursor.projectId, { state: 'rows', removed });
    });
  }
}
