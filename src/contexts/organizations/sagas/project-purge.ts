import { organizationContext, type ServiceIdentity } from '@engine/service-identity.js';
import type { Tx } from '@engine/tx.js';

/** An organization's, and no project's: the work outlives what it removes. */
export const projects = (organizationId: string): ServiceIdentity => ({ service: 'projects', context: organizationContext(organizationId) });
export const projectPurge = { name: 'purge', version: 1 } as const;

/** How many works are stopped in one transaction. */
export const stopLimit = 500;

/**
 * `nextAt`: when to go on, in milliseconds since the epoch. `page`: how many pages of objects were looked at; `after` is the last key of the one before, `round` how
 * often the prefix was walked, and `failures` what could not be removed on the latest walk. `tables`: those still to be emptied on this walk over all of them,
 * of which the first is done up to `fromPage`; `removed`: how many rows were gone when the walk began.
 */
export type ProjectPurgeCursor = {
  readonly projectId: string;
  readonly stage: 'work' | 'objects' | 'rows' | 'project' | 'leftovers' | 'done';
  readonly nextAt: number | null;
  readonly page: number;
  readonly after: string | null;
  readonly round: number;
  readonly failures: { readonly count: number; readonly some: readonly string[] };
  readonly tables: readonly string[] | null;
  readonly fromPage: number;
  readonly removed: number;
};

export const newPurgeCursor = (projectId: string): ProjectPurgeCursor => ({
  projectId,
  stage: 'work',
  nextAt: null,
  page: 0,
  after: null,
  round: 0,
  failures: { count: 0, some: [] },
  tables: null,
  fromPage: 0,
  removed: 0,
});

/** Statements of `work` run in the project, and the transaction is the purge's own again afterwards. */
export async function inProject<T>(tx: Tx, projectId: string, work: () => Promise<T>): Promise<T> {
  const [before] = await tx.query<{ project: string }[]>(`select current_setting('app.project') as project, set_config('app.project', $1, true)`, [projectId]);
  const result = await work();
  await tx.query(`select set_config('app.project', $1, true)`, [before?.project ?? '']);
  return result;
}
