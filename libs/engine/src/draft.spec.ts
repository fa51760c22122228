import fc from 'fast-check';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { Draft } from './draft.js';

const text = (delta: string, step = 1, attempt = 1): ExecutionEventBody => ({ _tag: 'Text', step, attempt, delta });
const result: ExecutionEventBody = { _tag: 'ToolResult', step: 1, callId: 'one', status: 'completed' };

describe('a draft', () => {
  test('joins neighbouring deltas of one attempt, and of no other', () => {
    const draft = new Draft();
    for (const event of [text('a'), text('b'), text('c', 1, 2), { ...text('d', 1, 2), _tag: 'Reasoning' } as ExecutionEventBody, text('e', 2)]) draft.add(event);
    expect(draft.takeAll().events).toEqual([text('ab'), text('c', 1, 2), { ...text('d', 1, 2), _tag: 'Reasoning' }, text('e', 2)]);
  });

  test('does not join across another event', () => {
    const draft = new Draft();
    for (const event of [text('a'), result, text('b')]) draft.add(event);
    expect(draft.events).toEqual([text('a'), result, text('b')]);
  });

  test('lets only what stands before the first result go ahead of it', () => {
    const draft = new Draft();
    for (const event of [text('a'), result, text('b')]) draft.add(event);
    expect(draft.takeStreamed()).toEqual([text('a')]);
    expect(draft.takeStreamed()).toEqual([]);
    expect(draft.takeAll().events).toEqual([result, text('b')]);
  });

  test('forgets what was not streamed when its phase runs again', () => {
    const draft = new Draft();
    for (const event of [text('a'), result, text('b')]) draft.add(event);
    draft.dropUnsaved();
    expect(draft.events).toEqual([text('a'), text('b')]);
  });

  const event = fc.oneof(
    fc.tuple(fc.string(), fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 })).map(([delta, step, attempt]) => text(delta, step, attempt)),
    fc.constant(result),
  );
  const said = (events: readonly ExecutionEventBody[]): string =>
    events.map((each) => (each._tag === 'Text' ? [...each.delta].map((char) => `${each.step}${each.attempt}${char}`).join('') : '|')).join('');

  test('whatever is taken when, every delta comes out once, in order, under its own attempt', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.constantFrom('nothing', 'streamed', 'all'))), (script) => {
        const draft = new Draft();
        const out: ExecutionEventBody[] = [];
        for (const [each, take] of script) {
          draft.add(each);
          if (take === 'streamed') out.push(...draft.takeStreamed());
          if (take === 'all') out.push(...draft.takeAll().events);
        }
        out.push(...draft.takeAll().events);
        expect(said(out)).toBe(said(script.map(([each]) => each)));
        expect(draft.textBytes).toBe(0);
      }),
    );
  });
});
