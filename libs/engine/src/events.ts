import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { ExecutionState } from '@domain/executions/state.js';
import type { Binding, OrganizationKey } from './sealing.js';

export type EventRow = {
  readonly execution_id: string;
  readonly sequence: number;
  readonly claim_id: string | null;
  readonly commit_number: number | null;
  readonly position: number | null;
  readonly type: string;
  readonly state: string | null;
  readonly body: Buffer | null;
  readonly created_at: Date;
};

/** An owner's event is bound to its place in its commit; one appended by a sender to its execution and type. Sequences are not known when bodies are sealed. */
export const eventBinding = (executionId: string, type: string, place: { claimId: string; commitNumber: number; position: number } | null): Binding => ({
  table: 'execution_event',
  record: place ? `${executionId}:${place.claimId}:${place.commitNumber}:${place.position}` : `${executionId}:${type}`,
});

/** `State` is kept in its own column, so that takeovers and cancels can write it without a key. */
export function sealEvent(key: OrganizationKey, binding: Binding, event: ExecutionEventBody): Buffer | null {
  return event._tag === 'State' ? null : key.seal(binding, JSON.stringify(event));
}

export function openEvent(key: OrganizationKey, row: EventRow): ExecutionEventBody {
  if (row.body === null) return { _tag: 'State', state: row.state as ExecutionState };
  const place = row.claim_id === null ? null : { claimId: row.claim_id, commitNumber: row.commit_number as number, position: row.position as number };
  return JSON.parse(key.open(eventBinding(row.execution_id, row.type, place), row.body).toString('utf8')) as ExecutionEventBody;
}
