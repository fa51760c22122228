import type { ExecutionState } from '@domain/executions/state.js';
import type { ReadEvent } from '@engine/reading/read-event.js';
import { encodeFrame } from '@platform/http/sse.js';
import type { ExecutionRow } from '../queries/visible-execution.js';
import type { EventView } from './events.dto.js';

export const toEventView = ({ sequence, at, body }: ReadEvent): EventView => ({ sequence, at, body });

/** Readers share events, and with them the text that goes over the wire. */
const encoded = new WeakMap<ReadEvent, string>();

function frameOf(event: ReadEvent): string {
  const known = encoded.get(event);
  if (known !== undefined) return known;
  const frame = encodeFrame('execution', event.json, event.sequence);
  encoded.set(event, frame);
  return frame;
}

export const framesOf = (events: readonly ReadEvent[]): string => (events.length === 1 ? frameOf(events[0] as ReadEvent) : events.map(frameOf).join(''));

/** The state of the head, or what an event that is newer than the head says. */
export function stateAfter(head: Pick<ExecutionRow, 'state' | 'sequence'>, events: readonly ReadEvent[]): ExecutionState {
  const newest = events.findLast(({ sequence, body }) => sequence > head.sequence && body._tag === 'State');
  return newest?.body._tag === 'State' ? newest.body.state : head.state;
}
