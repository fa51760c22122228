import { v7 as uuidv7 } from 'uuid';
import { toWire, type NewExecution } from './admit.js';
import { serviceWorkflow, type ServiceIdentity } from './service-identity.js';
import type { Tx } from './tx.js';

export type NewServiceExecution = Pick<NewExecution, 'id' | 'version' | 'cursor' | 'subjectId'> & {
  /** Without the service's name before it. */
  readonly name: string;
  /** How long it waits before its first step; default: not at all. */
  readonly delayMs?: number;
};

/** Inserts the head of a service's work. `false`: the id was admitted before. The wake goes out after the commit. */
export async function admitServiceExecution(tx: Tx, { service, context }: ServiceIdentity, work: NewServiceExecution): Promise<boolean> {
  const id = work.id ?? uuidv7();
  const { name, delayMs, ...rest } = work;
  const wire = toWire(id, { ...rest, context, workflow: serviceWorkflow(service, name), identityId: null, memberId: null, ready: true });
  const [row] = (await tx.query(`select admit_executions($1::jsonb) as admitted`, [JSON.stringify([{ ...wire, service, delay: delayMs ?? null }])])) as { admitted: number }[];
  return row?.admitted === 1;
}
