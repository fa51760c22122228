import type { SafeFailure } from '@domain/executions/failures.js';
import type { CallLog } from './call-log.js';
import type { ExecutionWriter } from './execution-writer.js';
import type { Head } from './head.js';
import type { EnginePorts } from './ports.js';
import { AccessLost, WrongOwner } from './service-identity.js';
import { asService, type KnownWorkflow } from './workflows.js';

/** Takeovers without progress after which work is ended, and its phases are not run again. */
export const poisonedAt = 6;

/** `givesBack`: this build cannot go on with it; the row goes back at the cost of a stall. */
export type TakenUp = { readonly failure: SafeFailure | null; readonly givesBack: boolean };

type Means = { readonly writer: ExecutionWriter; readonly calls: CallLog };

/** Before anything is done: whose work it is, who is asked before sends, who notes what, and what an older build left. */
export function takeUp(workflow: KnownWorkflow, head: Head, { writer, calls }: Means, ports: Pick<EnginePorts, 'recordError'>): TakenUp {
  writer.hooks = workflow.hooks;
  if (head.service !== null) calls.authorize = () => authorize(workflow, head);
  const about = { context: head.context, executionId: head.id };
  const isOwners = head.service === (workflow.service ?? null) && (head.service === null || head.memberId === null);
  const failure = isOwners ? null : ports.recordError(new WrongOwner(head.workflow), { ...about, category: 'wrong_owner' });
  if (head.version === workflow.version || head.stalls >= poisonedAt) return { failure, givesBack: false };
  try {
    if (!workflow.saga.upgrade) throw new Error(`"${head.workflow}" has no upgrade`);
    writer.raise(workflow.version, workflow.saga.upgrade(head.cursor, head.version));
    return { failure, givesBack: false };
  } catch (error) {
    ports.recordError(error, { ...about, category: 'upgrade_failed' });
    return { failure, givesBack: true };
  }
}

/** A service's right as it is now. */
export async function authorize(workflow: KnownWorkflow, { service, context }: Head): Promise<void> {
  if (service !== null && !(await asService(workflow).mayAct({ service, context }))) throw new AccessLost(service);
}
