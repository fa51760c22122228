import { Injectable } from '@nestjs/common';
import { end, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';

export const interruptWorkflow = { workflow: 'interrupt', version: 1 } as const;
/** Sent to the interrupts of a turn when it has ended and everything of it is closed. */
export const turnEnded = 'turn-ended';

/** `turnId`: the turn that was asked to stop; `null` when none was running. */
export type InterruptCursor = { readonly turnId: string | null };

/** A stop that can be watched: it is over when the turn that it stopped is. */
@Injectable()
@Workflow(interruptWorkflow.workflow, { version: interruptWorkflow.version })
export class InterruptSaga implements Saga<InterruptCursor> {
  next({ cursor }: Stored<InterruptCursor>, wake: Wake): Next {
    if (cursor.turnId === null || wake.signals.some(({ name }) => name === turnEnded)) return end('completed');
    return wait();
  }
}
