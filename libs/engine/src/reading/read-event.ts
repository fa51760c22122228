import { hasEnded } from '@domain/executions/state.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { openEvent, type EventRow } from '../events.js';
import type { OrganizationKey } from '../sealing.js';

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

/** Streams end after this event. */
export const endsLog = ({ body }: ReadEvent): boolean => body._tag === 'State' && hasEnded(body.state);
