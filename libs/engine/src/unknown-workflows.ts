import type { Pool } from 'pg';

/** Work that is ready or has an instant to wake at, and that no live node knows how to move. */
export type UnknownWorkflow = { readonly workflow: string; readonly version: number; readonly executions: number; readonly oldest: Date };

/** Reported by nodes: the code names workflow and version, and nothing of the work. */
export class WorkflowUnknown extends Error {
  readonly code: string;
  constructor({ workflow, version, executions }: UnknownWorkflow) {
    super(`no live node knows ${workflow}:${version}, which ${executions} executions wait for`);
    this.code = `${workflow}:${version}`;
  }
}

/** A node that lives says what it knows: what is named here waits until a build that knows it, or that reads its version, is started. */
export async function findUnknownWorkflows(pool: Pick<Pool, 'query'>): Promise<readonly UnknownWorkflow[]> {
  const { rows } = await pool.query<UnknownWorkflow>('select workflow, version, executions::int, oldest from unknown_workflows()');
  return rows;
}
