import { hasEnded } from '@domain/executions/state.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { openEvent, type EventRow } from '../events.js';
import type { OrganizationKey, Sealing } from '../sealing.js';
import type { LogKind } from './log-kind.js';

/** An event as readers see it. Opened and encoded once; every reader of this process shares the same object. */
export type ReadEvent = {
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly body: ExecutionEventBody;
  /** The whole event, `{sequence, at, body}`, as JSON text. */
  readonly json: string;
};

export function toReadEvent(key: OrganizationKey, row: EventRow): ReadEvent {
  const event = { sequence: row.sequence, at: row.created_at.getTime(), body: openEvent(key, row) };
  return { ...event, json: JSON.stringify(event) };
}

export type TenantEventRow = EventRow & { readonly organization_id: string; readonly project_id: string };

/** The logs of executions: sealed, and over with the event of the end state. */
export const executionLogs = (sealing: Sealing): LogKind<TenantEventRow, ReadEvent> => ({
  idOf: (row) => row.execution_id,
  bytesOf: (row) => row.body?.length ?? 0,
  openerOf: async (organizationId) => {
    const key = await sealing.keyOf(organizationId);
    return (row) => toReadEvent(key, row);
  },
  ends: ({ body }) => body._tag === 'State' && hasEnded(body.state),
});
