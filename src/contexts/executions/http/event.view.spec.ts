import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { ReadEvent } from '@engine/reading/read-event.js';
import { framesOf, stateAfter } from './event.view.js';

const event = (sequence: number, body: ExecutionEventBody): ReadEvent => ({ sequence, at: 5, body, json: JSON.stringify({ sequence, at: 5, body }) });
const running = event(3, { _tag: 'State', state: 'running' });
const ended = event(5, { _tag: 'State', state: 'completed' });

test('the state is that of the head, unless an event is newer', () => {
  expect(stateAfter({ state: 'waiting', sequence: 4 }, [running])).toBe('waiting');
  expect(stateAfter({ state: 'waiting', sequence: 4 }, [running, event(4, { _tag: 'Text', step: 1, attempt: 1, delta: 'x' }), ended])).toBe('completed');
  expect(stateAfter({ state: 'queued', sequence: 0 }, [])).toBe('queued');
});

test('frames carry the event name, the sequence and one line of JSON', () => {
  const text = event(4, { _tag: 'Text', step: 1, attempt: 1, delta: 'a\nb\r\u2028' });
  expect(framesOf([running, text])).toBe(`id: 3\nevent: execution\ndata: ${running.json}\n\nid: 4\nevent: execution\ndata: ${text.json}\n\n`);
  expect(text.json).not.toMatch(/[\n\r]/);
});
