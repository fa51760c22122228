import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Head } from './head.js';
import { processId } from './node-liveness.js';
import type { Resource, ResourceHeld } from './run-scope.js';
import { isPassingStorageError } from './storage-errors.js';

export type Registration =
  | { readonly outcome: 'registered' }
  | { readonly outcome: 'refused' }
  | {
      readonly outcome: 'held';
      readonly lease: string;
      readonly state: ResourceHeld['state'];
      readonly executionId: string;
      readonly node: string;
      readonly epoch: string;
      readonly left: boolean;
    };

export type LeaseState = ResourceHeld['state'] | 'closed';
type Work = Pick<Head, 'context'>;

/**
 * The rows of physical things. Every statement may be sent again: after a lost answer it reads what it wrote. The owner's word on its own lease asks for
 * no claim, because whoever lost the work still knows best what it has closed.
 */
export class LeaseStore {
  constructor(
    private readonly pool: Pool,
    /** The process leaves: nobody waits any more for a database that is away. */
    private readonly leaving: AbortSignal,
  ) {}

  register(head: Head, id: string, { kind, name }: Resource, mayOwn: () => void): Promise<Registration> {
    const lease = { id, kind, resource: name, execution: head.id, claim: head.claimId, generation: head.generation, cancel: head.cancelNumber, process: processId };
    return this.ask<Registration>('openbot_open_lease', 'select open_lease($1, $2, $3::jsonb) as answer', head, [JSON.stringify(lease)], mayOwn);
  }

  /** Answers what is stored by now; `null` when no such lease was ever registered. */
  move(work: Work, id: string, state: 'closing' | 'closed' | 'close_failed', errorId: string | null = null): Promise<LeaseState | null> {
    return this.ask<LeaseState | null>('openbot_move_lease', 'select move_lease($1, $2, $3, $4, $5) as answer', work, [id, state, errorId]);
  }

  async proveReleased(work: Work, id: string): Promise<void> {
    await this.ask('openbot_prove_lease', 'select prove_lease_released($1, $2, $3) as answer', work, [id]);
  }

  private async ask<T>(name: string, text: string, { context }: Work, values: readonly unknown[], mayAsk: () => void = () => undefined): Promise<T> {
    for (;;) {
      mayAsk();
      try {
        const { rows } = await this.pool.query<{ answer: T }>({ name, text, values: [context.organizationId, context.projectId, ...values] });
        return rows[0]!.answer;
      } catch (error) {
        if (!isPassingStorageError(error) || this.leaving.aborted) throw error;
        await delay(50 + Math.random() * 200, undefined, { ref: false });
      }
    }
  }
}
